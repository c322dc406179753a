#pragma once
// A transport that hands everything on to another one: what a test changes, it overrides.

#include <cohom/transport.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace cohom::test {

/// Every receive is a receive(): nothing is lent.
class ForwardingChannel : public Channel {
 public:
  explicit ForwardingChannel(std::unique_ptr<Channel> channel) : channel_(std::move(channel)) {}

  void send(std::span<const std::byte> data, int peer, std::uint32_t tag,
            std::uint64_t cookie) override {
    channel_->send(data, peer, tag, cookie);
  }
  void receive(std::span<std::byte> buffer, int peer, std::uint32_t tag,
               std::uint64_t cookie) override {
    channel_->receive(buffer, peer, tag, cookie);
  }
  std::size_t poll(std::span<Completion> out) override { return channel_->poll(out); }
  bool flushed() override { return channel_->flushed(); }
  [[nodiscard]] bool ends_at_once() const override { return channel_->ends_at_once(); }
  bool give_up() noexcept override { return channel_->give_up(); }

 protected:
  [[nodiscard]] Channel& channel() { return *channel_; }

 private:
  std::unique_ptr<Channel> channel_;
};

class ForwardingTransport : public Transport {
 public:
  explicit ForwardingTransport(std::shared_ptr<Transport> transport)
      : transport_(std::move(transport)) {}

  [[nodiscard]] std::string_view name() const override { return transport_->name(); }
  [[nodiscard]] int rank() const override { return transport_->rank(); }
  [[nodiscard]] int ranks() const override { return transport_->ranks(); }
  [[nodiscard]] std::size_t preferred_message_bytes() const override {
    return transport_->preferred_message_bytes();
  }
  [[nodiscard]] bool reaches(MemorySpace space) const override {
    return transport_->reaches(space);
  }
  [[nodiscard]] std::size_t preferred_device_message_bytes() const override {
    return transport_->preferred_device_message_bytes();
  }
  [[nodiscard]] std::string_view device_path() const override { return transport_->device_path(); }
  [[nodiscard]] std::unique_ptr<Registration> register_memory(std::span<std::byte> memory,
                                                              MemorySpace space) override {
    return transport_->register_memory(memory, space);
  }
  [[nodiscard]] std::unique_ptr<MessageMemory> take_memory(std::size_t bytes) override {
    return transport_->take_memory(bytes);
  }
  [[nodiscard]] std::uint32_t channels() const override { return transport_->channels(); }
  std::unique_ptr<Channel> open(std::uint32_t number) override { return transport_->open(number); }
  [[nodiscard]] CallBoard* take_board() override { return transport_->take_board(); }
  [[nodiscard]] std::string why_not_in_own_thread() const override {
    return transport_->why_not_in_own_thread();
  }
  [[nodiscard]] std::shared_ptr<const Topology> topology() const override {
    return transport_->topology();
  }
  [[nodiscard]] std::optional<Error> failure() const override { return transport_->failure(); }
  [[nodiscard]] WireCounters counters() const override { return transport_->counters(); }

 private:
  std::shared_ptr<Transport> transport_;
};

}  // namespace cohom::test
