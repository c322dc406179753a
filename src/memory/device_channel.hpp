#pragma once
// DeviceChannel: messages of words in a device's memory, through a channel that knows nothing of
// streams.
//
// A send waits until the device has written its words. Where the transport does not reach the
// device, words go through pinned memory of the host, which has a place for each of them.

#include "memory/device_work.hpp"

#include <cohom/transport.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

namespace cohom {

/// Where a plan's words lie that are a device's.
struct DeviceWords {
  std::span<std::byte> words;
  std::byte* staged =
      nullptr;  ///< their places in pinned memory; null: the transport reaches the device
};

class DeviceChannel final : public Channel {
 public:
  /// `work` outlives the channel, and is used in all of its functions.
  DeviceChannel(std::unique_ptr<Channel> channel, DeviceWork& work, const DeviceWords& memory)
      : channel_(std::move(channel)), work_(work), memory_(memory) {}
  ~DeviceChannel() override;
  DeviceChannel(const DeviceChannel&) = delete;
  DeviceChannel& operator=(const DeviceChannel&) = delete;

  void send(std::span<const std::byte> data, int peer, std::uint32_t tag,
            std::uint64_t cookie) override;
  void receive(std::span<std::byte> buffer, int peer, std::uint32_t tag,
               std::uint64_t cookie) override;
  std::size_t poll(std::span<Completion> out) override;
  bool flushed() override { return sends_.empty() && channel_->flushed(); }
  [[nodiscard]] bool ends_at_once() const override { return channel_->ends_at_once(); }
  bool give_up() noexcept override { return channel_->give_up(); }

 private:
  /// Sends with one mark behind what they wait for.
  struct Batch {
    kernels::DeviceEvent mark = nullptr;
    std::size_t sends = 0;
  };
  struct Send {
    std::span<const std::byte> data;
    int peer = 0;
    std::uint32_t tag = 0;
    std::uint64_t cookie = 0;
  };
  /// A message on its way into pinned memory.
  struct Arriving {
    std::byte* staged = nullptr;
    std::byte* words = nullptr;
    std::uint64_t cookie = 0;
  };

  /// A message that leaves from pinned memory, until it is sent. Empty: the place is idle.
  struct Leaving {
    std::span<const std::byte> staged;
    std::uint64_t cookie = 0;
  };

  /// Empty messages too, which must not overtake others of their stream: they may lie behind the
  /// last word.
  [[nodiscard]] bool is_on_device(const std::byte* data) const {
    return data >= memory_.words.data() && data <= memory_.words.data() + memory_.words.size();
  }
  /// Of words, in pinned memory.
  [[nodiscard]] std::byte* staged_place(const std::byte* words) const {
    return memory_.staged + (words - memory_.words.data());
  }
  void start_batch();
  void stage(Send& send);
  void copy_to_host(std::span<const std::byte> words, std::size_t first);
  void send_what_is_written();
  bool arrive(Completion& completion);
  void leave(Completion& completion);

  std::unique_ptr<Channel> channel_;
  DeviceWork& work_;
  DeviceWords memory_;
  std::deque<Send> sends_;
  std::deque<Batch> batches_;  ///< of the first of them
  std::size_t unmarked_ = 0;   ///< the others
  std::vector<Arriving> arriving_;
  std::vector<Leaving> leaving_;
  std::vector<std::size_t> idle_arriving_, idle_leaving_;  ///< places
};

}  // namespace cohom
