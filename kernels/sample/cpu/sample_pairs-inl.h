// Sampling signs of two ranks: a group is a pair of positions, and its permutation is one bit,
// which says whether the pair is swapped. 64 pairs at a time. See kernels/sample/sample.hpp.

#if defined(COHOM_SAMPLE_PAIRS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_SAMPLE_PAIRS_INL_H
#undef COHOM_SAMPLE_PAIRS_INL_H
#else
#define COHOM_SAMPLE_PAIRS_INL_H
#endif

#include "kernels/sample/cpu/sample_groups-inl.h"

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Which of the next 64 pairs are swapped: the upper bit of each draw.
HWY_INLINE std::uint64_t swapped_pairs(GroupDraws& draws) {
  const GroupTag d;
  const hn::RebindToSigned<GroupTag> d_signed;
  std::uint64_t swapped = 0;
  for (std::size_t g = 0; g < 64; g += hn::Lanes(d)) {
    const auto negative =
        hn::RebindMask(d, hn::Lt(hn::BitCast(d_signed, draws.next()), hn::Zero(d_signed)));
    std::uint8_t part[8] = {};
    hn::StoreMaskBits(d, negative, part);
    std::uint16_t some;
    std::memcpy(&some, part, 2);
    swapped |= std::uint64_t{some} << g;
  }
  return swapped;
}

/// Bit i of the result: bit 2i.
HWY_INLINE std::uint64_t even_bits(std::uint64_t x) {
  x &= 0x5555555555555555u;
  x = (x | x >> 1) & 0x3333333333333333u;
  x = (x | x >> 2) & 0x0f0f0f0f0f0f0f0fu;
  x = (x | x >> 4) & 0x00ff00ff00ff00ffu;
  x = (x | x >> 8) & 0x0000ffff0000ffffu;
  return (x | x >> 16) & 0x00000000ffffffffu;
}

/// Bit 2i of the result: bit i of 32.
HWY_INLINE std::uint64_t spread_bits(std::uint64_t x) {
  x &= 0x00000000ffffffffu;
  x = (x | x << 16) & 0x0000ffff0000ffffu;
  x = (x | x << 8) & 0x00ff00ff00ff00ffu;
  x = (x | x << 4) & 0x0f0f0f0f0f0f0f0fu;
  x = (x | x << 2) & 0x3333333333333333u;
  return (x | x << 1) & 0x5555555555555555u;
}

/// 64 pairs of a run, or what is left of a block.
struct Pairs {
  std::size_t word;       ///< the first one with their bits
  bool two;               ///< the next one has some as well
  std::size_t own_word;   ///< of a rank's own bits
  std::uint64_t there;    ///< those that are in the block, a bit each
  std::uint64_t swapped;  ///< position 0 takes rank 1
};

template <class Visit>
HWY_INLINE void for_each_64_pairs(const SampleFormat& format, std::uint64_t key, const SignRun& run,
                                  Visit visit) {
  for_each_sample_block(format, key, run, [&](const SampleBlock& block) {
    GroupDraws draws(block.frame);
    for (std::size_t word = 0; word < block.words(); word += 2) {
      const std::size_t pairs = block.groups - 32 * word;
      visit(Pairs{.word = block.first / 64 + word,
                  .two = word + 1 < block.words(),
                  .own_word = (block.own_first + 32 * word) / 64,
                  .there = pairs < 64 ? (std::uint64_t{1} << pairs) - 1 : ~std::uint64_t{0},
                  .swapped = swapped_pairs(draws)});
    }
  });
}

HWY_INLINE void gather_own_pairs(const SampleFormat& format, std::uint64_t key, const SignRun& run,
                                 const std::uint64_t* bits, std::uint64_t* own) {
  const std::uint64_t of_second_rank = format.rank == 0 ? 0 : ~std::uint64_t{0};
  for_each_64_pairs(format, key, run, [&](const Pairs& pairs) {
    const std::uint64_t low = bits[pairs.word], high = pairs.two ? bits[pairs.word + 1] : 0;
    const std::uint64_t first = even_bits(low) | even_bits(high) << 32;
    const std::uint64_t second = even_bits(low >> 1) | even_bits(high >> 1) << 32;
    own[pairs.own_word] = first ^ ((first ^ second) & (pairs.swapped ^ of_second_rank));
  });
}

HWY_INLINE void keep_own_pairs(const SampleFormat& format, std::uint64_t key, const SignRun& run,
                               std::uint64_t* bits) {
  const std::uint64_t of_second_rank = format.rank == 0 ? 0 : ~std::uint64_t{0};
  const auto mask = [](std::uint64_t takes_second) {
    const std::uint64_t spread = spread_bits(takes_second);
    return 0x5555555555555555u ^ spread ^ spread << 1;
  };
  for_each_64_pairs(format, key, run, [&](const Pairs& pairs) {
    const std::uint64_t takes_second = pairs.swapped ^ of_second_rank;
    bits[pairs.word] &= mask(takes_second);
    if (pairs.two) bits[pairs.word + 1] &= mask(takes_second >> 32);
  });
}

HWY_INLINE void place_pairs(const SampleFormat& format, std::uint64_t key, const SignRun& run,
                            const std::uint64_t* const* contributions, std::uint64_t* bits) {
  for_each_64_pairs(format, key, run, [&](const Pairs& pairs) {
    const std::uint64_t zero = contributions[0][pairs.own_word] & pairs.there;
    const std::uint64_t one = contributions[1][pairs.own_word] & pairs.there;
    const std::uint64_t exchanged = (zero ^ one) & pairs.swapped;
    const std::uint64_t first = zero ^ exchanged, second = one ^ exchanged;
    bits[pairs.word] = spread_bits(first) | spread_bits(second) << 1;
    if (pairs.two) bits[pairs.word + 1] = spread_bits(first >> 32) | spread_bits(second >> 32) << 1;
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
