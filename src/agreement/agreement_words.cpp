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

bool all_is_checked(const Table& table) { return (table.elements & are_checked) != 0; }

/// Of the words, without their checksum, and where it is of all bytes also of the elements behind
/// them, wherever these lie.
std::uint64_t checksum_of(const Table& table, std::span<const std::byte> elements) {
  const auto words = std::as_bytes(std::span(&table, 1)).subspan(sizeof table.checksum);
  const bool all = all_is_checked(table);
  const std::uint64_t seed = all ? XXH3_64bits(elements.data(), elements.size()) : 0;
  return XXH3_64bits_withSeed(words.data(), words.size(), seed);
}

/// Of what came from another rank, where `most` bytes of a vector may stand behind the words.
AgreementWords::Arrived read_with(std::span<const std::byte> came, std::size_t most, int ranks,
                                  int from) {
  CallChannel::expect_bytes(std::min(came.size(), sizeof(Table)), sizeof(Table), from);
  AgreementWords::Arrived arrived;
  Table& table = arrived.table;
  std::memcpy(&table, came.data(), sizeof table);
  const std::span<const std::byte> elements = came.subspan(sizeof table);
  arrived.elements = elements.data();
  arrived.bytes = std::uint32_t(table.elements);
  const std::size_t right = std::min(arrived.bytes, most);
  // A part has no checksum where that is of all bytes.
  if (elements.size() == right || !all_is_checked(table)) {
    const auto all = static_cast<std::uint64_t>(ranks);
    if (checksum_of(table, elements) != table.checksum || table.error > all ||
        std::uint32_t(table.unready) > all || arrived.bytes > ShortSum::max_bytes)
      CallChannel::throw_changed(from);
  }
  CallChannel::expect_bytes(came.size(), sizeof table + right, from);
  return arrived;
}

}  // namespace

void AgreementWords::begin(const Table& own, const CallPace& pace, ShortSum* sum) {
  maximum_ = own;
  pace_ = pace;
  sum_ = sum;
}

AgreementWords::Table AgreementWords::own_table(std::span<const std::byte> elements) const {
  Table table = maximum_;
  table.elements = pace_.word() | (sum_ != nullptr ? word_of(*sum_) : 0);
  table.checksum = checksum_of(table, elements);
  return table;
}

std::span<const std::byte> AgreementWords::message() {
  if (sum_ == nullptr) return post().words;
  const std::span<std::byte> message = sum_->message();
  const Table table = own_table(message.subspan(sizeof(Table)));
  std::memcpy(message.data(), &table, sizeof table);
  return message;
}

AgreementWords::Post AgreementWords::post() {
  Post post;
  if (sum_ != nullptr) post.vector = sum_->input();
  leaving_ = own_table(post.vector);
  post.words = std::as_bytes(std::span(&leaving_, 1));
  return post;
}

std::span<const std::byte> AgreementWords::message_of(const Table& own) {
  leaving_ = own;
  leaving_.checksum = checksum_of(leaving_, {});
  return std::as_bytes(std::span(&leaving_, 1));
}

AgreementWords::Arrived AgreementWords::read(std::span<const std::byte> message, int ranks,
                                             int from) {
  return read_with(message, ShortSum::section_bytes, ranks, from);
}

AgreementWords::Arrived AgreementWords::read_post(std::span<const std::byte> post, int ranks,
                                                  int from) {
  return read_with(post, ShortSum::max_bytes, ranks, from);
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
