#pragma once
// Handshake: what ranks tell each other before they can send messages.

#include <cohom/ucx.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace cohom::ucx {

/// Runs `local` and gives what it returns on all ranks, by rank. An Error that it throws on any rank is
/// thrown on all: that of the lowest. Collective, by one exchange.
std::vector<std::vector<std::byte>> tell_all(const Exchange& exchange,
                                             const std::function<std::vector<std::byte>()>& local);

/// What the others must know of a rank.
struct Introduction {
  std::uint64_t worker = 0;         ///< Worker::id()
  std::uint64_t message_bytes = 0;  ///< COHOM_MESSAGE_BYTES; 0: not set
  std::uint32_t group = 0;          ///< what the rank calls this group: a part of tags sent to it
  std::vector<std::byte> address = {};
};

std::vector<std::byte> to_bytes(const Introduction& introduction);
/// @throws Error(transport) for bytes that are none: another version of the library.
Introduction introduction_of(const std::vector<std::byte>& bytes);

}  // namespace cohom::ucx
