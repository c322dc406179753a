#include "agreement/short_sum.hpp"

#include <cohom/merge.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace cohom {

namespace {

/// So that among the shortest vectors a longer one takes no memory: fresh pages take longer than
/// its call.
constexpr std::size_t least_capacity = 1024;

std::size_t words_of(std::size_t bytes) { return (bytes + 7) / 8; }

}  // namespace

ShortSum::ShortSum(const kernels::KernelTable& kernels, ElementType type, std::size_t count,
                   std::uint64_t divisor, const Way& way)
    : kernels_(kernels), type_(type), count_(count), divisor_(divisor), way_(way) {
  // Of two ranks the only sum is the result.
  if (way.on_board && (way.ranks > 2 || divisor != 1)) partials_ = way.ranks / 2;
  if (bytes() <= short_bytes) reserve(std::max(bytes(), least_capacity));
}

void ShortSum::take_memory() {
  if (!has_memory()) reserve(bytes());
}

void ShortSum::reserve(std::size_t bytes) {
  if (way_.on_board) {
    partial_ = std::make_unique_for_overwrite<std::uint64_t[]>(partials_ * words_of(bytes));
  } else {
    auto message =
        std::make_unique_for_overwrite<std::uint64_t[]>(words_of(way_.head_bytes + bytes));
    incoming_ = std::make_unique_for_overwrite<std::uint64_t[]>(words_of(behind_first(bytes)));
    message_ = std::move(message);
  }
  capacity_ = bytes;
}

std::size_t ShortSum::workspace_bytes() const {
  if (capacity_ <= short_bytes) return 0;
  return way_.on_board ? partials_ * capacity_ : capacity_ + behind_first(capacity_);
}

void ShortSum::become(std::size_t count) {
  if (count * size_of(type_) > capacity_) reserve(short_bytes);
  count_ = count;
}

void ShortSum::begin(const void* input, void* output) {
  input_ = input;
  output_ = output;
  if (!way_.on_board && bytes() != 0) std::memcpy(elements(), input, bytes());
}

void ShortSum::add(const std::byte* arrived, bool own_first, bool last) {
  add_range(first(), arrived, own_first, last);
  if (others().bytes != 0) add_range(others(), behind_first(), own_first, last);
}

void ShortSum::add_range(Range range, const std::byte* arrived, bool own_first, bool last) {
  const bool is_result = last && divisor_ == 1;
  std::byte* const own = elements() + range.begin;
  void* const sum = is_result ? static_cast<std::byte*>(output_) + range.begin : own;
  merge(own_first ? own : arrived, own_first ? arrived : own, range.bytes, sum);
  if (last && !is_result) finish(range, own);
}

void ShortSum::merge(const std::byte* lower, const std::byte* upper, std::size_t bytes, void* sum) {
  const std::array<const void*, 2> operands{lower, upper};
  kernels_.merge({MergeKind::add_float, type_}, operands.data(), operands.size(), bytes, sum);
}

void ShortSum::add_all(std::span<const std::byte*> vectors, std::size_t own) {
  vectors[own] = input().data();
  struct Group {
    const std::byte* sum;
    std::size_t lowest;  ///< rank
  };
  const auto joined = [&](const Group& lower, const Group& upper, bool last) -> Group {
    void* const place = partial_.get() + lower.lowest / 2 * words_of(bytes());
    void* const to = last && divisor_ == 1 ? output_ : place;
    merge(lower.sum, upper.sum, bytes(), to);
    return {static_cast<const std::byte*>(to), lower.lowest};
  };
  // Pairs, where there is no power of two; then groups of neighbours.
  std::array<Group, max_vectors> groups;
  std::size_t count = 0;
  const std::size_t pairs = vectors.size() - std::bit_floor(vectors.size());
  for (std::size_t rank = 0; rank < vectors.size(); ++rank, ++count) {
    groups[count] = {vectors[rank], rank};
    if (count >= pairs) continue;
    ++rank;
    groups[count] = joined(groups[count], {vectors[rank], rank}, false);
  }
  for (; count > 1; count /= 2)
    for (std::size_t g = 0; g < count / 2; ++g)
      groups[g] = joined(groups[2 * g], groups[2 * g + 1], count == 2);
  if (divisor_ != 1) finish(all(), groups[0].sum);
}

void ShortSum::take(const std::byte* arrived) {
  finish(first(), arrived);
  if (others().bytes != 0) finish(others(), behind_first());
}

void ShortSum::write_output() { finish(all(), elements()); }

void ShortSum::finish(Range range, const std::byte* sum) {
  kernels_.finish_elements(type_, sum, range.bytes / size_of(type_), divisor_,
                           static_cast<std::byte*>(output_) + range.begin);
}

}  // namespace cohom
