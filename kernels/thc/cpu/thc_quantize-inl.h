// Quantising a frame in 16-bit lanes, 32 coefficients at a time with AVX-512: small tables, and
// levels=full with at most 255 intervals.
//
// Rows are taken in pairs (r, r + 2), because the dithers of rows 4m .. 4m + 3 are the four bytes
// of one draw: moved so that a block holds the lower halves of its four draws and then the upper
// ones, the low bytes of the 16-bit lanes serve the pair (4m, 4m + 2) and the high bytes (4m + 1,
// 4m + 3). The same order comes from narrowing the two rows, and the result, in the upper bits of
// each lane, is assembled into words by two shuffles.

#if defined(COHOM_THC_QUANTIZE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_THC_QUANTIZE_INL_H
#undef COHOM_THC_QUANTIZE_INL_H
#else
#define COHOM_THC_QUANTIZE_INL_H
#endif

#include "kernels/core/cpu/block_vectors-inl.h"
#include "kernels/thc/cpu/thc_rotate-inl.h"
#include "kernels/thc/cpu/thc_small_table.hpp"

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// SmallTable in registers.
class TableQuantizer {
 public:
  HWY_INLINE explicit TableQuantizer(const SmallTable& table)
      : level_(hn::LoadDup128(d8_, table.level)) {
#if HWY_MAX_BYTES == 64
    const hn::Rebind<std::uint8_t, decltype(d16_)> half;
    const auto gap = hn::PromoteTo(d16_, hn::Load(half, table.gap));
    const auto base = hn::PromoteTo(d16_, hn::Load(half, table.base));
    entries_ = hn::Or(gap, hn::ShiftLeft<8>(base));
#else
    gap_low_ = hn::LoadDup128(d8_, table.gap);
    gap_high_ = hn::LoadDup128(d8_, table.gap + 16);
    base_low_ = hn::LoadDup128(d8_, table.base);
    base_high_ = hn::LoadDup128(d8_, table.base + 16);
#endif
  }

  /// Index in the upper four bits of each lane, anything below. `dither` is 256 d + 128, which
  /// makes the upper half of its product with 256 gap the whole of gap * d + gap div 2.
  HWY_INLINE U16 quantize(U16 x, U16 dither) const {
    const auto low_bytes = hn::Set(d16_, 0x00ff);
#if HWY_MAX_BYTES == 64
    const U16 entry{_mm512_permutexvar_epi16(hn::ShiftRight<8>(x).raw, entries_.raw)};
    const U16 gap = hn::ShiftLeft<8>(entry);
    const U16 start = hn::IfVecThenElse(low_bytes, x, entry);
#elif HWY_ARCH_ARM
    // One lookup of 32 bytes; an index beyond them gives zero.
    const U8 cell = hn::BitCast(d8_, hn::Or(x, low_bytes));
    const U16 gap = lookup(gap_low_, gap_high_, cell);
    const U16 start = hn::Or(lookup(base_low_, base_high_, cell), hn::And(x, low_bytes));
#else
    // Two lookups of 16 bytes each; an index with its top bit set gives zero.
    const U8 cell = hn::BitCast(d8_, hn::Or(x, low_bytes));
    const U8 low = hn::SaturatedAdd(cell, hn::Set(d8_, 0x70));
    const U8 high = hn::Sub(cell, hn::Set(d8_, 0x10));
    const U16 gap = lookup(gap_low_, gap_high_, low, high);
    const U16 start = hn::Or(lookup(base_low_, base_high_, low, high), hn::And(x, low_bytes));
#endif
    return hn::Add(start, hn::MulHigh(gap, dither));
  }

  static HWY_INLINE U16 values(U16 quantized) { return hn::ShiftRight<12>(quantized); }

  HWY_INLINE U16 levels(U16 quantized) const {
    // A byte with its top bit set, as all upper ones get here, looks up a zero.
    const U16 index = hn::Or(values(quantized), hn::Set(d16_, 0x8000));
    return hn::BitCast(d16_, hn::TableLookupBytesOr0(level_, hn::BitCast(d8_, index)));
  }

  /// Levels of a in the lower bytes, of b in the upper ones.
  HWY_INLINE U8 level_bytes(U16 a, U16 b) const {
    const U16 indices = hn::OrAnd(values(a), hn::ShiftRight<4>(b), hn::Set(d16_, 0x0f00));
    return hn::TableLookupBytes(level_, hn::BitCast(d8_, indices));
  }

 private:
  static constexpr hn::ScalableTag<std::uint16_t> d16_{};
  static constexpr hn::ScalableTag<std::uint8_t> d8_{};

#if HWY_MAX_BYTES == 64
  U16 entries_;
#else
#if HWY_ARCH_ARM
  HWY_INLINE U16 lookup(U8 table_low, U8 table_high, U8 index) const {
    const uint8x16x2_t table = {{table_low.raw, table_high.raw}};
    return hn::BitCast(d16_, U8{vqtbl2q_u8(table, index.raw)});
  }
#else
  HWY_INLINE U16 lookup(U8 table_low, U8 table_high, U8 low, U8 high) const {
    return hn::BitCast(d16_, hn::Or(hn::TableLookupBytesOr0(table_low, low),
                                    hn::TableLookupBytesOr0(table_high, high)));
  }
#endif
  U8 gap_low_, gap_high_, base_low_, base_high_;
#endif
  U8 level_;
};

/// levels=full with at most 255 intervals: the level is in the upper byte.
class LevelQuantizer {
 public:
  static HWY_INLINE U16 quantize(U16 x, U16 dither) {
    return hn::Add(x, hn::ShiftRight<8>(dither));
  }
  static HWY_INLINE U16 values(U16 quantized) { return hn::ShiftRight<8>(quantized); }
  static HWY_INLINE U16 levels(U16 quantized) { return values(quantized); }
  static HWY_INLINE U8 level_bytes(U16 a, U16 b) {
    const hn::ScalableTag<std::uint16_t> d16;
    const hn::ScalableTag<std::uint8_t> d8;
    return hn::BitCast(d8, hn::OrAnd(values(a), b, hn::Set(d16, 0xff00)));
  }
};

/// The dithers of a frame: for rows 4m .. 4m + 3 and a column, 2 * MaxLanes bytes at [m][2 *
/// column] in the order described above.
using DitherBytes = std::uint16_t[4][32];

HWY_INLINE void draw_dithers(const FrameDither& dither, DitherBytes& bytes) {
  const hn::ScalableTag<std::uint32_t> d32;
  const hn::ScalableTag<std::uint16_t> d16;
  const hn::ScalableTag<std::uint8_t> d8;
  alignas(16) static constexpr std::uint8_t halves[16] = {0, 1, 4, 5, 8,  9,  12, 13,
                                                          2, 3, 6, 7, 10, 11, 14, 15};
  const auto order = hn::LoadDup128(d8, halves);
  const auto mask = hn::Set(d8, dither.mask);
  const auto offset = hn::Set(d8, dither.offset);
#pragma GCC unroll 4
  for (std::uint32_t m = 0; m < 4; ++m)
    for (std::uint32_t column = 0; column < 16; column += hn::MaxLanes(d32)) {
      auto drawn = hn::BitCast(d8, frame_draws(d32, dither.frame, 16 * m + column));
      drawn = hn::Add(hn::And(drawn, mask), offset);
      drawn = hn::TableLookupBytes(drawn, order);
      hn::StoreU(hn::BitCast(d16, drawn), d16, bytes[m] + 2 * column);
    }
}

/// s[2m] := rows 4m and 4m + 2 quantised, s[2m + 1] := rows 4m + 1 and 4m + 3, from `column` on.
/// grid(r) gives row r's grid positions.
template <class Quantizer, class Grid>
HWY_INLINE void quantize_rows(const Quantizer& quantizer, const DitherBytes& dithers,
                              std::size_t column, Grid grid, U16 (&s)[8]) {
  const hn::ScalableTag<std::uint16_t> d16;
  const auto half = hn::Set(d16, 0x0080);
  const auto high_byte = hn::Set(d16, 0xff00);
#pragma GCC unroll 4
  for (std::size_t m = 0; m < 4; ++m) {
    const U16 drawn = hn::LoadU(d16, dithers[m] + 2 * column);
    const U16 even = hn::Or(hn::ShiftLeft<8>(drawn), half);
    const U16 odd = hn::OrAnd(half, drawn, high_byte);
    s[2 * m] = quantizer.quantize(narrow(grid(4 * m), grid(4 * m + 2)), even);
    s[2 * m + 1] = quantizer.quantize(narrow(grid(4 * m + 1), grid(4 * m + 3)), odd);
  }
}

/// Words whose lower halves are assembled from `low` and whose upper halves from `high`: a block of
/// each has in 16-bit lane i bytes 0 and 2, in lane 4 + i bytes 1 and 3, of word i's half.
HWY_INLINE void store_words(U8 low, U8 high, std::uint64_t* out) {
  const hn::ScalableTag<std::uint8_t> d8;
  const hn::ScalableTag<std::uint32_t> d32;
  const hn::ScalableTag<std::uint64_t> d64;
  alignas(16) static constexpr std::uint8_t bytes[16] = {0, 8,  1, 9,  2, 10, 3, 11,
                                                         4, 12, 5, 13, 6, 14, 7, 15};
  const auto order = hn::LoadDup128(d8, bytes);
  const auto low_halves = hn::BitCast(d32, hn::TableLookupBytes(low, order));
  const auto high_halves = hn::BitCast(d32, hn::TableLookupBytes(high, order));
  store_interleaved(hn::BitCast(d64, hn::InterleaveLower(d32, low_halves, high_halves)),
                    hn::BitCast(d64, hn::InterleaveUpper(d32, low_halves, high_halves)), out);
}

/// The words of a block of 256 in 4-bit lanes (16 words: lane r of word i is row r, column i).
HWY_INLINE void store_nibbles(const U16 (&s)[8], std::uint64_t* out) {
  const hn::ScalableTag<std::uint16_t> d16;
  const hn::ScalableTag<std::uint8_t> d8;
  const auto half = [&](const U16* q) __attribute__((always_inline)) {
    auto nibbles = hn::ShiftRight<12>(q[0]);
    nibbles = hn::OrAnd(nibbles, hn::ShiftRight<8>(q[1]), hn::Set(d16, 0x00f0));
    nibbles = hn::OrAnd(nibbles, hn::ShiftRight<4>(q[2]), hn::Set(d16, 0x0f00));
    return hn::BitCast(d8, hn::OrAnd(nibbles, q[3], hn::Set(d16, 0xf000)));
  };
  store_words(half(s), half(s + 4), out);
}

/// The words of a block of 256 in 8-bit lanes of levels (32 words: lane j of word i is row 2j + i
/// div 16, column i mod 16).
template <class Quantizer>
HWY_INLINE void store_level_bytes(const Quantizer& quantizer, const U16 (&s)[8],
                                  std::uint64_t* out) {
  store_words(quantizer.level_bytes(s[0], s[2]), quantizer.level_bytes(s[4], s[6]), out);
  store_words(quantizer.level_bytes(s[1], s[3]), quantizer.level_bytes(s[5], s[7]), out + 16);
}

/// values[16 r + column + i] := lane i of row r, finish() having made s into values.
template <class Finish>
HWY_INLINE void store_rows(const U16 (&s)[8], std::size_t column, std::uint16_t* values,
                           Finish finish) {
  const hn::ScalableTag<std::uint16_t> d16;
  const hn::ScalableTag<std::uint64_t> d64;
  const hn::Half<decltype(d16)> row;
#pragma GCC unroll 4
  for (int m = 0; m < 4; ++m) {
    const auto a = hn::BitCast(d64, finish(s[2 * m]));
    const auto b = hn::BitCast(d64, finish(s[2 * m + 1]));
    const auto rows01 = hn::BitCast(d16, hn::ConcatEven(d64, b, a));
    const auto rows23 = hn::BitCast(d16, hn::ConcatOdd(d64, b, a));
    std::uint16_t* out = values + 64 * m + column;
    hn::StoreU(hn::LowerHalf(row, rows01), row, out);
    hn::StoreU(hn::UpperHalf(row, rows01), row, out + 16);
    hn::StoreU(hn::LowerHalf(row, rows23), row, out + 32);
    hn::StoreU(hn::UpperHalf(row, rows23), row, out + 48);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
