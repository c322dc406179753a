#include "agreement/agreement_words.hpp"

#include "agreement/call_channel.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

namespace cohom {

namespace {

using Table = AgreementWords::Table;
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

void AgreementWords::begin(const Table& own, const CallPace& pace, ShortSum* sum) {
  maximum_ = own;
  pace_ = pace;
  sum_ = sum;
}

std::span<const std::byte> AgreementWords::message() {
  Table table = maximum_;
  table.elements = pace_.word() | (sum_ != nullptr ? word_of(*sum_) : 0);
  std::span<std::byte> message = std::as_writable_bytes(std::span(&leaving_, 1));
  if (sum_ != nullptr) message = sum_->message();
  std::memcpy(message.data(), &table, sizeof table);
  table.checksum = checksum_of(checked_bytes(message, table.elements));
  std::memcpy(message.data(), &table.checksum, sizeof table.checksum);
  return message;
}

std::span<const std::byte> AgreementWords::message_of(const Table& own) {
  leaving_ = own;
  const std::span<std::byte> message = std::as_writable_bytes(std::span(&leaving_, 1));
  leaving_.checksum = checksum_of(checked_bytes(message, leaving_.elements));
  return message;
}

AgreementWords::Arrived AgreementWords::read(std::span<const std::byte> message, int ranks,
                                             int from) {
  CallChannel::expect_bytes(std::min(message.size(), sizeof(Table)), sizeof(Table), from);
  Arrived arrived;
  Table& table = arrived.table;
  std::memcpy(&table, message.data(), sizeof table);
  arrived.elements = message.data() + sizeof table;
  const std::size_t bytes = std::uint32_t(table.elements);
  const std::size_t right = sizeof table + ShortSum::bytes_of_section(bytes, 0);
  const bool is_whole = message.size() == right;
  // A part has no checksum where that is of all bytes.
  if (is_whole || (table.elements & are_checked) == 0) {
    const bool changed = checksum_of(checked_bytes(message, table.elements)) != table.checksum;
    const auto all = static_cast<std::uint64_t>(ranks);
    if (changed || table.error > all || std::uint32_t(table.unready) > all ||
        bytes > ShortSum::max_bytes)
      CallChannel::throw_changed(from);
  }
  CallChannel::expect_bytes(message.size(), right, from);
  arrived.bytes = bytes;
  return arrived;
}

void AgreementWords::merge(const Table& arrived) {
  maximum_.error = std::max(maximum_.error, arrived.error);
  maximum_.unready = std::max(maximum_.unready, arrived.unready);
  maximum_.hash = std::max(maximum_.hash, arrived.hash);
  maximum_.complement = std::max(maximum_.complement, arrived.complement);
  pace_.merge(CallPace(arrived.elements));
  if (sum_ != nullptr && (arrived.elements & of_elements) != word_of(*sum_)) sum_ = nullptr;
}

}  // namespace cohom
