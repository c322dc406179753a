#pragma once
// A transport that hands everything on but what one function says about each message that leaves.

#include "forwarding_transport.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace cohom::test {

/// What becomes of a message: it may change the bytes. False: it never leaves, though it seems to.
using Alter = std::function<bool(std::vector<std::byte>& bytes, int peer, std::uint32_t tag)>;

class AlteringChannel final : public ForwardingChannel {
 public:
  AlteringChannel(std::unique_ptr<Channel> channel, const Alter& alter)
      : ForwardingChannel(std::move(channel)), alter_(alter) {}

  void send(std::span<const std::byte> data, int peer, std::uint32_t tag,
            std::uint64_t cookie) override {
    sent_.push_back(std::make_unique<std::vector<std::byte>>(data.begin(), data.end()));
    if (alter_(*sent_.back(), peer, tag))
      ForwardingChannel::send(*sent_.back(), peer, tag, cookie);
    else
      lost_.push_back({cookie, data.size()});
  }

  std::size_t poll(std::span<Completion> out) override {
    if (lost_.empty() || out.empty()) return ForwardingChannel::poll(out);
    out[0] = lost_.back();
    lost_.pop_back();
    return 1;
  }

 private:
  const Alter& alter_;
  std::vector<std::unique_ptr<std::vector<std::byte>>> sent_;
  std::vector<Completion> lost_;
};

class AlteringTransport final : public ForwardingTransport {
 public:
  AlteringTransport(std::shared_ptr<Transport> transport, Alter alter)
      : ForwardingTransport(std::move(transport)), alter_(std::move(alter)) {}
  std::unique_ptr<Channel> open(std::uint32_t number) override {
    return std::make_unique<AlteringChannel>(ForwardingTransport::open(number), alter_);
  }

 private:
  Alter alter_;
};

}  // namespace cohom::test
