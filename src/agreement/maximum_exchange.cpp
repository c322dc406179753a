#include "agreement/maximum_exchange.hpp"

#include "base/tags.hpp"

#include <xxhash.h>

#include <algorithm>
#include <span>

namespace cohom {

namespace {

/// Of a table without its last word.
std::uint64_t checksum_of(const MaximumExchange::Table& table) {
  return XXH3_64bits(table.data(), (table.size() - 1) * sizeof table[0]);
}

}  // namespace

void MaximumExchange::begin(const Table& own) {
  maximum_ = own;
  if (!done()) next_hop();
}

int MaximumExchange::peer() const {
  return (channel_.rank() + channel_.ranks() - distance_) % channel_.ranks();
}

void MaximumExchange::next_hop() {
  leaving_ = maximum_;
  leaving_.back() = checksum_of(leaving_);
  channel_.receive(std::as_writable_bytes(std::span(arriving_)), peer(), call_tag(hop_));
  channel_.send(std::as_bytes(std::span(leaving_)),
                (channel_.rank() + distance_) % channel_.ranks(), call_tag(hop_));
}

void MaximumExchange::complete(bool sent, std::size_t bytes) {
  if (!sent) CallChannel::expect_bytes(bytes, sizeof(Table), peer());
  if (channel_.pending() != 0) return;
  merge_arrived();
  distance_ *= 2;
  ++hop_;
  if (!done()) next_hop();
}

void MaximumExchange::merge_arrived() {
  Table arrived;
  std::copy_n(arriving_.begin(), arrived.size(), arrived.begin());
  if (arrived.back() != checksum_of(arrived)) CallChannel::throw_changed(peer());
  const auto more_than_ranks = [&](std::uint64_t rank) {
    return rank > static_cast<std::uint64_t>(channel_.ranks());
  };
  if (more_than_ranks(arrived[0]) || more_than_ranks(arrived[1] & 0xffffffff))
    CallChannel::throw_changed(peer());
  for (std::size_t i = 0; i + 1 < maximum_.size(); ++i)
    maximum_[i] = std::max(maximum_[i], arrived[i]);
}

}  // namespace cohom
