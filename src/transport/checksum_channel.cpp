#include "transport/checksum_channel.hpp"

#include "base/tags.hpp"

#include <cohom/error.hpp>

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <string>

namespace cohom {

namespace {

/// Of the second part of a pair; its number is in the bits above.
constexpr std::uint64_t checksum_part = 1;

std::uint64_t checksum_of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace

std::size_t ChecksumChannel::take_pair() {
  if (idle_.empty()) {
    idle_.push_back(pairs_.size());
    pairs_.emplace_back();
  }
  const std::size_t index = idle_.back();
  idle_.pop_back();
  return index;
}

void ChecksumChannel::send(std::span<const std::byte> data, int peer, std::uint32_t tag,
                           std::uint64_t cookie) {
  if (is_agreement_tag(tag)) return channel_->send(data, peer, tag, cookie);
  const std::size_t index = take_pair();
  Pair& pair = pairs_[index];
  pair = {.checksum = checksum_of(data),
          .buffer = data,
          .completion = {cookie, data.size()},
          .peer = peer,
          .tag = tag,
          .parts_left = 2};
  channel_->send(data, peer, tag, index << 1);
  channel_->send(std::as_bytes(std::span(&pair.checksum, 1)), peer, tag,
                 index << 1 | checksum_part);
}

void ChecksumChannel::receive(std::span<std::byte> buffer, int peer, std::uint32_t tag,
                              std::uint64_t cookie) {
  if (is_agreement_tag(tag)) return channel_->receive(buffer, peer, tag, cookie);
  const std::size_t index = take_pair();
  Pair& pair = pairs_[index];
  offsets_.try_emplace(offset_key(peer, tag));
  pair = {.buffer = buffer,
          .completion = {cookie, buffer.size()},
          .peer = peer,
          .tag = tag,
          .arrives = true,
          .parts_left = 2};
  channel_->receive(buffer, peer, tag, index << 1);
  channel_->receive(std::as_writable_bytes(std::span(&pair.checksum, 1)), peer, tag,
                    index << 1 | checksum_part);
}

std::size_t ChecksumChannel::poll(std::span<Completion> out) {
  std::array<Completion, 32> parts;
  const std::size_t count =
      channel_->poll(std::span(parts).first(std::min(parts.size(), out.size())));
  std::size_t done = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t cookie = parts[i].cookie;
    if (is_agreement_cookie(cookie)) {
      out[done++] = parts[i];
    } else if (complete(parts[i])) {
      out[done++] = pairs_[cookie >> 1].completion;
      idle_.push_back(cookie >> 1);
    }
  }
  return done;
}

/// Whether its message is complete now.
bool ChecksumChannel::complete(const Completion& part) {
  Pair& pair = pairs_[part.cookie >> 1];
  if (pair.arrives)
    ((part.cookie & checksum_part) != 0 ? pair.checksum_bytes : pair.completion.bytes) = part.bytes;
  if (--pair.parts_left != 0) return false;
  if (pair.arrives) check(pair);
  return true;
}

void ChecksumChannel::check(const Pair& pair) {
  const std::size_t bytes = pair.completion.bytes;
  std::uint64_t& offset = offsets_.at(offset_key(pair.peer, pair.tag));
  if (pair.checksum_bytes == sizeof pair.checksum &&
      pair.checksum == checksum_of(pair.buffer.first(bytes))) {
    offset += bytes;
    return;
  }
  throw Error(ErrorKind::transport, "a message of rank " + std::to_string(pair.peer) +
                                        " in round " + round_name(pair.tag) +
                                        " was changed on its way: " + std::to_string(bytes) +
                                        " bytes at offset " + std::to_string(offset) +
                                        " of what it sends there do not fit their checksum");
}

std::string ChecksumChannel::round_name(std::uint32_t tag) const {
  const std::size_t round = round_of_tag(tag);
  return round < rounds_.size() ? std::string(rounds_[round]->traits().name)
                                : std::to_string(round);
}

}  // namespace cohom
