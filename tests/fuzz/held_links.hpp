#pragma once
// ucx::MessageLink without UCX, for a daemon whose members are made up: what is sent stays under
// way until it is let go, as UCX does when the other end takes it. So a member may be as slow as an
// input says.

#include "ucx_transport/message_link.hpp"

#include <cstddef>
#include <functional>
#include <list>
#include <span>
#include <vector>

namespace cohom::fuzz {

struct HeldMessage {
  const ucx::MessageLink* link = nullptr;
  cohom_header header{};
  std::span<const std::byte> data;  ///< where the daemon has it; read until the message is let go
  std::vector<std::byte> as_sent;   ///< what it was
  std::function<void()> leave;
};

/// Of all links, oldest first.
std::list<HeldMessage>& held_messages();

/// The message has left. What it carries is still what was sent.
void let_go(std::list<HeldMessage>::iterator message);

/// Nobody is reached at an address that begins with it.
inline constexpr std::byte unreachable{0};

/// For who wants a worker, and does nothing with it.
ucx::Worker& no_worker();

}  // namespace cohom::fuzz
