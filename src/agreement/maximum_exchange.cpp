#include "agreement/maximum_exchange.hpp"

#include "base/tags.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

namespace cohom {

namespace {

using Table = MaximumExchange::Table;
static_assert(sizeof(Table) == 48, "it fits a descriptor of a node window");

// Of Table::elements: how many bytes stand behind the table, and:
constexpr std::uint64_t has_elements = std::uint64_t{1} << 32;
constexpr std::uint64_t are_checked = std::uint64_t{1} << 33;
constexpr std::uint64_t of_elements = (std::uint64_t{1} << CallPace::first_bit) - 1;

std::uint64_t word_of(const ShortSum& sum) {
  return sum.bytes() | has_elements | (sum.checksum() ? are_checked : 0);
}

/// What the checksum of a message is of, without the checksum; the message is whole.
std::span<const std::byte> checked_bytes(std::span<const std::byte> message,
                                         std::uint64_t elements) {
  const bool all = (elements & are_checked) != 0;
  return message.first(all ? message.size() : sizeof(Table)).subspan(sizeof(Table::checksum));
}

std::uint64_t checksum_of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace

void MaximumExchange::begin(const Table& own, const CallPace& pace, ShortSum* sum) {
  maximum_ = own;
  pace_ = pace;
  sum_ = sum;
  if (!done()) start_hop();
}

void MaximumExchange::tell(const Table& own) {
  leaving_ = own;
  const std::span<std::byte> message = std::as_writable_bytes(std::span(&leaving_, 1));
  leaving_.checksum = checksum_of(checked_bytes(message, leaving_.elements));
  for (int hop = 0; hop < hops_.count(); ++hop)
    if (hops_[hop].sends) channel_.try_send(message, hops_[hop].peer, call_tag);
}

void MaximumExchange::start_hop() {
  const DoublingHop hop = hops_[hop_];
  if (hop.receives)
    channel_.receive_or_lend(std::as_writable_bytes(std::span(arriving_)), hop.peer, call_tag);
  if (hop.sends) send(hop.peer);
}

void MaximumExchange::send(int peer) {
  Table table = maximum_;
  table.elements = pace_.word() | (sum_ != nullptr ? word_of(*sum_) : 0);
  std::span<std::byte> message = std::as_writable_bytes(std::span(&leaving_, 1));
  if (sum_ != nullptr) message = sum_->message();
  std::memcpy(message.data(), &table, sizeof table);
  table.checksum = checksum_of(checked_bytes(message, table.elements));
  std::memcpy(message.data(), &table.checksum, sizeof table.checksum);
  channel_.send(message, peer, call_tag);
}

void MaximumExchange::complete(const Completion& completion) {
  if (!is_sent(completion.cookie)) read_table(completion);
  if (channel_.pending() != 0) return;
  if (hops_[hop_].receives) merge_arrived();
  ++hop_;
  if (done()) return;
  start_hop();
  // Who only passes on what all ranks have has it itself.
  if (!hops_[hop_].receives && sum_ != nullptr && all_make_this_call()) sum_->write_output();
}

/// Each word is read once: a message that is lent lies in another process's memory.
void MaximumExchange::read_table(const Completion& completion) {
  const std::byte* const here = reinterpret_cast<const std::byte*>(arriving_.data());
  is_lent_ = completion.lent != nullptr;
  const std::span message(is_lent_ ? completion.lent : here, completion.bytes);
  CallChannel::expect_bytes(std::min(message.size(), sizeof(Table)), sizeof(Table), peer());
  std::memcpy(&arrived_, message.data(), sizeof arrived_);
  arrived_elements_ = message.data() + sizeof arrived_;
  const std::size_t right = sizeof(Table) + std::uint32_t(arrived_.elements);
  const bool is_whole = message.size() == right;
  // A part has no checksum where that is of all bytes.
  if (is_whole || (arrived_.elements & are_checked) == 0) {
    const bool changed =
        checksum_of(checked_bytes(message, arrived_.elements)) != arrived_.checksum;
    const auto ranks = static_cast<std::uint64_t>(channel_.ranks());
    if (changed || arrived_.error > ranks || std::uint32_t(arrived_.unready) > ranks)
      CallChannel::throw_changed(peer());
  }
  CallChannel::expect_bytes(message.size(), right, peer());
}

void MaximumExchange::merge_arrived() {
  maximum_.error = std::max(maximum_.error, arrived_.error);
  maximum_.unready = std::max(maximum_.unready, arrived_.unready);
  maximum_.hash = std::max(maximum_.hash, arrived_.hash);
  maximum_.complement = std::max(maximum_.complement, arrived_.complement);
  pace_.merge(CallPace(arrived_.elements));
  if (sum_ != nullptr && (arrived_.elements & of_elements) != word_of(*sum_)) sum_ = nullptr;
  if (sum_ != nullptr && all_make_this_call()) {
    const DoublingHop hop = hops_[hop_];
    if (hop.final)
      sum_->take(arrived_elements_);
    else
      sum_->add(arrived_elements_, hop.own_first, hop_ + 1 == hops_.count());
  }
  if (is_lent_) channel_.give_back(arrived_elements_ - sizeof(Table));
}

}  // namespace cohom
