// Packing 16-bit values into vertical lanes of 64-bit words and back (docs/wire-format.md,
// "Lanes").
//
// Lanes of 4, 8 and 16 bits are done eight words at a time: four runs of 16-bit units, a unit being
// four, two or one values, are interleaved into words. Other widths shift whole 64-bit words.

#if defined(COHOM_LANES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_LANES_INL_H
#undef COHOM_LANES_INL_H
#else
#define COHOM_LANES_INL_H
#endif

#include "kernels/core/body/lanes.hpp"

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Values that must lie readable, and zero, behind those that are packed.
inline constexpr std::size_t pack_padding = 80;

/// Eight 16-bit values of each of four units, as eight words.
template <class V16>
HWY_INLINE void store_units(V16 u0, V16 u1, V16 u2, V16 u3, std::uint64_t* words) {
  const hn::CappedTag<std::uint16_t, 8> d16;
  const hn::CappedTag<std::uint32_t, 4> d32;
  const hn::CappedTag<std::uint64_t, 2> d64;
  const auto low01 = hn::BitCast(d32, hn::InterleaveLower(d16, u0, u1));
  const auto low23 = hn::BitCast(d32, hn::InterleaveLower(d16, u2, u3));
  const auto high01 = hn::BitCast(d32, hn::InterleaveUpper(d16, u0, u1));
  const auto high23 = hn::BitCast(d32, hn::InterleaveUpper(d16, u2, u3));
  hn::StoreU(hn::BitCast(d64, hn::InterleaveLower(d32, low01, low23)), d64, words);
  hn::StoreU(hn::BitCast(d64, hn::InterleaveUpper(d32, low01, low23)), d64, words + 2);
  hn::StoreU(hn::BitCast(d64, hn::InterleaveLower(d32, high01, high23)), d64, words + 4);
  hn::StoreU(hn::BitCast(d64, hn::InterleaveUpper(d32, high01, high23)), d64, words + 6);
}

/// Its inverse.
template <class V16>
HWY_INLINE void load_units(const std::uint64_t* words, V16& u0, V16& u1, V16& u2, V16& u3) {
  const hn::CappedTag<std::uint16_t, 8> d;
  const hn::CappedTag<std::uint64_t, 2> d64;
  const auto a = hn::BitCast(d, hn::LoadU(d64, words));
  const auto b = hn::BitCast(d, hn::LoadU(d64, words + 2));
  const auto c = hn::BitCast(d, hn::LoadU(d64, words + 4));
  const auto e = hn::BitCast(d, hn::LoadU(d64, words + 6));
  const auto words04 = hn::InterleaveLower(d, a, c);
  const auto words26 = hn::InterleaveLower(d, b, e);
  const auto words15 = hn::InterleaveUpper(d, a, c);
  const auto words37 = hn::InterleaveUpper(d, b, e);
  const auto even01 = hn::InterleaveLower(d, words04, words26);
  const auto even23 = hn::InterleaveUpper(d, words04, words26);
  const auto odd01 = hn::InterleaveLower(d, words15, words37);
  const auto odd23 = hn::InterleaveUpper(d, words15, words37);
  u0 = hn::InterleaveLower(d, even01, odd01);
  u1 = hn::InterleaveUpper(d, even01, odd01);
  u2 = hn::InterleaveLower(d, even23, odd23);
  u3 = hn::InterleaveUpper(d, even23, odd23);
}

template <unsigned width>
inline void pack_units(const std::uint16_t* values, std::size_t block_words, std::uint64_t* words) {
  constexpr std::size_t rows = 16 / width;  // values in a unit
  const hn::CappedTag<std::uint16_t, 8> d;
  const auto unit = [&](std::size_t u, std::size_t i) __attribute__((always_inline)) {
    const std::uint16_t* value = values + u * rows * block_words + i;
    auto v = hn::LoadU(d, value);
    if constexpr (rows > 1)
      v = hn::Or(v, hn::ShiftLeft<width % 16>(hn::LoadU(d, value + block_words)));
    if constexpr (rows > 2) {
      v = hn::Or(v, hn::ShiftLeft<2 * width % 16>(hn::LoadU(d, value + 2 * block_words)));
      v = hn::Or(v, hn::ShiftLeft<3 * width % 16>(hn::LoadU(d, value + 3 * block_words)));
    }
    return v;
  };
  for (std::size_t i = 0; i < block_words; i += 8)
    store_units(unit(0, i), unit(1, i), unit(2, i), unit(3, i), words + i);
}

template <unsigned width>
inline void unpack_units(const std::uint64_t* words, std::size_t block_words,
                         std::uint16_t* values) {
  constexpr std::size_t rows = 16 / width;
  const hn::CappedTag<std::uint16_t, 8> d;
  const auto mask = hn::Set(d, static_cast<std::uint16_t>(body::lane_mask(width)));
  for (std::size_t i = 0; i < block_words; i += 8) {
    hn::Vec<decltype(d)> units[4];
    load_units(words + i, units[0], units[1], units[2], units[3]);
#pragma GCC unroll 4
    for (std::size_t u = 0; u < 4; ++u) {
      std::uint16_t* value = values + u * rows * block_words + i;
      hn::StoreU(hn::And(units[u], mask), d, value);
      if constexpr (rows > 1)
        hn::StoreU(hn::And(hn::ShiftRight<width % 16>(units[u]), mask), d, value + block_words);
      if constexpr (rows > 2) {
        hn::StoreU(hn::And(hn::ShiftRight<2 * width % 16>(units[u]), mask), d,
                   value + 2 * block_words);
        hn::StoreU(hn::ShiftRight<3 * width % 16>(units[u]), d, value + 3 * block_words);
      }
    }
  }
}

/// Any width up to 16, at least a vector of words. The last vector overlaps the one before, so that
/// nothing behind the words is touched.
inline void pack_words(const std::uint16_t* values, std::size_t block_words, unsigned width,
                       std::uint64_t* words) {
  const hn::ScalableTag<std::uint64_t> d;
  const hn::Rebind<std::uint32_t, decltype(d)> d32;
  const hn::Rebind<std::uint16_t, decltype(d)> d16;
  const std::size_t last = block_words - hn::MaxLanes(d);
  for (std::size_t i = 0;; i = i + hn::MaxLanes(d) < last ? i + hn::MaxLanes(d) : last) {
    auto word = hn::Zero(d);
    for (unsigned l = 0; l < body::lanes_per_word(width); ++l) {
      const auto value = hn::LoadU(d16, values + l * block_words + i);
      const auto lane = hn::PromoteTo(d, hn::PromoteTo(d32, value));
      word = hn::Or(word, hn::ShiftLeftSame(lane, static_cast<int>(l * width)));
    }
    hn::StoreU(word, d, words + i);
    if (i == last) return;
  }
}

/// Writes up to a word's lanes beyond the values, as garbage or zeros.
inline void unpack_words(const std::uint64_t* words, std::size_t block_words, unsigned width,
                         std::uint16_t* values) {
  const hn::ScalableTag<std::uint64_t> d;
  const hn::Rebind<std::uint16_t, decltype(d)> d16;
  const auto mask = hn::Set(d, body::lane_mask(width));
  const std::size_t last = block_words - hn::MaxLanes(d);
  for (std::size_t i = 0;; i = i + hn::MaxLanes(d) < last ? i + hn::MaxLanes(d) : last) {
    const auto word = hn::LoadU(d, words + i);
    for (unsigned l = 0; l < body::lanes_per_word(width); ++l) {
      const auto lane = hn::And(hn::ShiftRightSame(word, static_cast<int>(l * width)), mask);
      hn::StoreU(hn::TruncateTo(d16, lane), d16, values + l * block_words + i);
    }
    if (i == last) return;
  }
}

/// Packs `count` >= 256 values of at most 16 bits, behind which pack_padding zeros must lie.
inline void pack_block(const std::uint16_t* values, std::size_t count, unsigned width,
                       std::uint64_t* words) {
  const std::size_t block_words = body::words_per_block(count, width);
  switch (width) {
    case 4: return pack_units<4>(values, block_words, words);
    case 8: return pack_units<8>(values, block_words, words);
    case 16: return pack_units<16>(values, block_words, words);
    default: break;
  }
  if (block_words < 8) return body::pack_lanes(values, count, width, words);
  pack_words(values, block_words, width, words);
}

/// Its inverse; may write up to pack_padding values behind them.
inline void unpack_block(const std::uint64_t* words, std::size_t count, unsigned width,
                         std::uint16_t* values) {
  const std::size_t block_words = body::words_per_block(count, width);
  switch (width) {
    case 4: return unpack_units<4>(words, block_words, values);
    case 8: return unpack_units<8>(words, block_words, values);
    case 16: return unpack_units<16>(words, block_words, values);
    default: break;
  }
  if (block_words < 8) return body::unpack_lanes(words, count, width, values);
  unpack_words(words, block_words, width, values);
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
