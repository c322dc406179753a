// Counting plus signs of several ranks, bit-sliced, and what most of them say.

#if defined(COHOM_SIGN_COUNT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_SIGN_COUNT_INL_H
#undef COHOM_SIGN_COUNT_INL_H
#else
#define COHOM_SIGN_COUNT_INL_H
#endif

#include "kernels/core/cpu/lanes-inl.h"
#include "kernels/sign/body/sign.hpp"

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Widths whose lanes divide words: then bit b of a word of signs is lane b div width of the word
/// of counts 16 * (b mod width) further on.
constexpr bool is_whole_width(unsigned width) { return (width & (width - 1)) == 0; }

/// The lowest bit of every lane.
constexpr std::uint64_t lowest_bits(unsigned width) {
  return ~std::uint64_t{0} / body::lane_mask(width);
}

/// planes[p] := bit p of the count of every position, for a block's 16 words.
HWY_INLINE void add_planes(const std::uint64_t* const* contributions, std::size_t count,
                           std::size_t first_word, unsigned width, std::uint64_t (*planes)[16]) {
  const hn::ScalableTag<std::uint64_t> d;
  for (std::size_t i = 0; i < 16; i += hn::MaxLanes(d)) {
    hn::Vec<decltype(d)> sum[16];
    for (unsigned p = 0; p < width; ++p) sum[p] = hn::Zero(d);
    for (std::size_t c = 0; c < count; ++c) {
      auto carry = hn::LoadU(d, contributions[c] + first_word + i);
      for (unsigned p = 0; p < width; ++p) {
        const auto next = hn::And(sum[p], carry);
        sum[p] = hn::Xor(sum[p], carry);
        carry = next;
      }
    }
    for (unsigned p = 0; p < width; ++p) hn::StoreU(sum[p], d, planes[p] + i);
  }
}

template <unsigned width>
HWY_INLINE void planes_to_lanes(const std::uint64_t (*planes)[16], std::uint64_t* words) {
  const hn::ScalableTag<std::uint64_t> d;
  const auto lowest = hn::Set(d, lowest_bits(width));
  for (std::size_t i = 0; i < 16; i += hn::MaxLanes(d)) {
    hn::Vec<decltype(d)> plane[width];
#pragma GCC unroll 16
    for (unsigned p = 0; p < width; ++p) plane[p] = hn::LoadU(d, planes[p] + i);
    for (unsigned r = 0; r < width; ++r) {
      auto word = hn::Zero(d);
#pragma GCC unroll 16
      for (unsigned p = 0; p < width; ++p) {
        word = hn::Or(word, hn::ShiftLeftSame(hn::And(plane[p], lowest), static_cast<int>(p)));
        plane[p] = hn::ShiftRight<1>(plane[p]);
      }
      hn::StoreU(word, d, words + 16 * r + i);
    }
  }
}

/// One count an element, for lanes that do not divide words.
HWY_INLINE void planes_to_values(const std::uint64_t (*planes)[16], unsigned width,
                                 std::uint16_t* values) {
  const hn::ScalableTag<std::uint32_t> d;
  const hn::Rebind<std::uint16_t, decltype(d)> d16;
  const hn::RebindToSigned<decltype(d)> d32;
  const auto one = hn::Set(d, 1u);
  for (std::size_t c = 0; c < 16; c += hn::MaxLanes(d)) {
    hn::Vec<decltype(d)> plane[2][16];
    for (unsigned p = 0; p < width; ++p)
      hn::LoadInterleaved2(d, reinterpret_cast<const std::uint32_t*>(planes[p] + c), plane[0][p],
                           plane[1][p]);
    for (std::size_t row = 0; row < 64; ++row) {
      auto value = hn::Zero(d);
      for (unsigned p = 0; p < width; ++p) {
        auto& left = plane[row / 32][p];
        value = hn::Or(value, hn::ShiftLeftSame(hn::And(left, one), static_cast<int>(p)));
        left = hn::ShiftRight<1>(left);
      }
      hn::StoreU(hn::DemoteTo(d16, hn::BitCast(d32, value)), d16, values + 16 * row + c);
    }
  }
}

inline void count_run(const SignCounts& counts, const SignRun& run,
                      const std::uint64_t* const* contributions, std::size_t contribution_count,
                      std::uint64_t* sum) {
  const std::size_t block_words = body::words_per_block(sign_block, counts.width);
  std::uint64_t planes[16][16];
  std::uint16_t values[sign_block + pack_padding] = {};
  for (std::size_t b = 0; b < run.count / sign_block; ++b) {
    std::uint64_t* const words = sum + b * block_words;
    add_planes(contributions, contribution_count, 16 * b, counts.width, planes);
    switch (counts.width) {
      case 1: planes_to_lanes<1>(planes, words); break;
      case 2: planes_to_lanes<2>(planes, words); break;
      case 4: planes_to_lanes<4>(planes, words); break;
      case 8: planes_to_lanes<8>(planes, words); break;
      case 16: planes_to_lanes<16>(planes, words); break;
      default:
        planes_to_values(planes, counts.width, values);
        kernels::HWY_NAMESPACE::pack_block(values, sign_block, counts.width, words);
    }
  }
}

/// Adding what a count lacks to half the lane's range lets the lane's top bit tell who won.
template <unsigned width>
HWY_INLINE void majority_of_lanes(const std::uint64_t* words, std::uint32_t ranks, bool odd,
                                  std::uint64_t* bits) {
  const hn::ScalableTag<std::uint64_t> d;
  const auto lowest = hn::Set(d, lowest_bits(width));
  const auto lacking = [&](bool tie_is_plus) {
    const std::uint64_t half = std::uint64_t{1} << (width - 1);
    return hn::Set(d, (half - body::majority_threshold(ranks, tie_is_plus)) * lowest_bits(width));
  };
  const auto even_rows = lacking(!odd), odd_rows = lacking(odd);
  for (std::size_t i = 0; i < 16; i += hn::MaxLanes(d)) {
    auto signs = hn::Zero(d);
#pragma GCC unroll 16
    for (unsigned r = 0; r < width; ++r) {
      const auto votes =
          hn::Add(hn::LoadU(d, words + 16 * r + i), r % 2 == 0 ? even_rows : odd_rows);
      const auto top = hn::And(hn::ShiftRight<width - 1>(votes), lowest);
      signs = hn::Or(signs, hn::ShiftLeftSame(top, static_cast<int>(r)));
    }
    hn::StoreU(signs, d, bits + i);
  }
}

HWY_INLINE void majority_of_values(const std::uint16_t* values, std::uint32_t ranks, bool odd,
                                   std::uint64_t* bits) {
  const hn::ScalableTag<std::int32_t> d;
  const hn::Rebind<std::uint16_t, decltype(d)> d16;
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto top = hn::Set(du, 0x80000000u);
  const auto least = [&](bool tie_is_plus) {
    return hn::Set(d, static_cast<std::int32_t>(body::majority_threshold(ranks, tie_is_plus)) - 1);
  };
  const hn::Vec<decltype(d)> below[2] = {least(!odd), least(odd)};
  for (std::size_t c = 0; c < 16; c += hn::MaxLanes(d)) {
    hn::Vec<decltype(du)> signs[2];
    for (std::size_t half = 0; half < 2; ++half) {
      auto packed = hn::Zero(du);
      for (std::size_t r = 0; r < 32; ++r) {
        const std::uint16_t* row = values + 16 * (32 * half + r) + c;
        const auto plus = hn::Gt(hn::PromoteTo(d, hn::LoadU(d16, row)), below[r % 2]);
        packed =
            hn::Or(hn::ShiftRight<1>(packed), hn::IfThenElseZero(hn::RebindMask(du, plus), top));
      }
      signs[half] = packed;
    }
    hn::StoreInterleaved2(signs[0], signs[1], du, reinterpret_cast<std::uint32_t*>(bits + c));
  }
}

inline void majority_run(const SignCounts& counts, const SignRun& run, const std::uint64_t* sum,
                         bool odd, std::uint64_t* bits) {
  const std::size_t block_words = body::words_per_block(sign_block, counts.width);
  std::uint16_t values[sign_block + pack_padding];
  std::uint64_t signs[16];  // `bits` may lie where the sum is still to be read
  for (std::size_t b = 0; b < run.count / sign_block; ++b) {
    const std::uint64_t* const words = sum + b * block_words;
    switch (counts.width) {
      case 2: majority_of_lanes<2>(words, counts.ranks, odd, signs); break;
      case 4: majority_of_lanes<4>(words, counts.ranks, odd, signs); break;
      case 8: majority_of_lanes<8>(words, counts.ranks, odd, signs); break;
      case 16: majority_of_lanes<16>(words, counts.ranks, odd, signs); break;
      default:
        unpack_block(words, sign_block, counts.width, values);
        majority_of_values(values, counts.ranks, odd, signs);
    }
    std::copy_n(signs, 16, bits + 16 * b);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
