#pragma once
// What merges of words come to, worked out part by part, in another way than the kernels.

#include <cohom/merge.hpp>

#include <algorithm>
#include <cstdint>
#include <stdexcept>

namespace cohom::test {

/// The kinds whose result is a word of two words, whatever lies beside.
inline constexpr MergeKind word_merges[] = {MergeKind::add, MergeKind::bit_or, MergeKind::max,
                                            MergeKind::max8, MergeKind::max16};

constexpr std::uint64_t largest_parts(std::uint64_t a, std::uint64_t b, unsigned bits) {
  const std::uint64_t part = (std::uint64_t{1} << bits) - 1;
  std::uint64_t word = 0;
  for (unsigned at = 0; at < 64; at += bits) word |= std::max(a >> at & part, b >> at & part) << at;
  return word;
}

/// @throws std::invalid_argument for a kind that is none of `word_merges`
constexpr std::uint64_t merged(MergeKind kind, std::uint64_t a, std::uint64_t b) {
  switch (kind) {
    case MergeKind::add: return a + b;
    case MergeKind::bit_or: return a | b;
    case MergeKind::max: return largest_parts(a, b, 32);
    case MergeKind::max8: return largest_parts(a, b, 8);
    case MergeKind::max16: return largest_parts(a, b, 16);
    case MergeKind::add_packed:
    case MergeKind::add_float: break;
  }
  throw std::invalid_argument("not a merge of words");
}

}  // namespace cohom::test
