#pragma once
// ChecksumChannel: messages that are checked where they arrive (Options::checksum).
//
// Behind each message a second one follows with the XXH3-64 of its bytes, so that neither end
// copies them. The agreements of calls have checksums of their own and pass.

#include "codecs/common/round.hpp"

#include <cohom/transport.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cohom {

class ChecksumChannel final : public Channel {
 public:
  /// `rounds`: for messages, those that tags number; they outlive the channel.
  ChecksumChannel(std::unique_ptr<Channel> channel, std::span<Round* const> rounds)
      : rounds_(rounds), channel_(std::move(channel)) {}

  void send(std::span<const std::byte> data, int peer, std::uint32_t tag,
            std::uint64_t cookie) override;
  void receive(std::span<std::byte> buffer, int peer, std::uint32_t tag,
               std::uint64_t cookie) override;
  /// @throws Error(transport) for a message that was changed on its way
  std::size_t poll(std::span<Completion> out) override;
  bool flushed() override { return channel_->flushed(); }
  [[nodiscard]] bool ends_at_once() const override { return channel_->ends_at_once(); }
  bool give_up() noexcept override { return channel_->give_up(); }

 private:
  /// A message and its checksum.
  struct Pair {
    std::uint64_t checksum = 0;  ///< that leaves or arrives
    std::span<const std::byte> buffer;
    Completion completion;
    int peer = 0;
    std::uint32_t tag = 0;
    std::size_t checksum_bytes = 0;
    bool arrives = false;
    int parts_left = 0;
  };

  std::size_t take_pair();
  bool complete(const Completion& part);
  void check(const Pair& pair);
  static std::uint64_t offset_key(int peer, std::uint32_t tag) {
    return std::uint64_t(peer) << 32 | tag;
  }
  [[nodiscard]] std::string round_name(std::uint32_t tag) const;

  std::span<Round* const> rounds_;
  std::deque<Pair> pairs_;  ///< stay where they are: the checksums travel from and to them
  std::unique_ptr<Channel> channel_;
  std::vector<std::size_t> idle_;
  /// Bytes that have come from a peer with a tag; payloads may be shorter than their buffers.
  std::unordered_map<std::uint64_t, std::uint64_t> offsets_;
};

}  // namespace cohom
