// Encoding runs of blocks of at least a frame.
//
// A block of one frame in the common formats goes from the user's buffer to the words without
// touching memory in between. Everything else takes the same steps one by one: the scaled block,
// its rotation, values in 16 bits, words.

#if defined(COHOM_THC_ENCODE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_THC_ENCODE_INL_H
#undef COHOM_THC_ENCODE_INL_H
#else
#define COHOM_THC_ENCODE_INL_H
#endif

#include "kernels/cpu/element_vectors-inl.h"
#include "kernels/cpu/lanes-inl.h"
#include "kernels/cpu/thc_blocks.hpp"
#include "kernels/cpu/thc_grid-inl.h"
#include "kernels/cpu/thc_quantize-inl.h"
#include "kernels/cpu/thc_restore-inl.h"
#include "kernels/cpu/thc_rotate-inl.h"

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// The rows of a frame from `column` on, scaled, with their signs.
template <class T, class D>
HWY_INLINE void load_scaled_rows(D d, const void* input, std::size_t first, hn::Vec<D> factor,
                                 const std::uint32_t (&sign_draws)[16], std::size_t column,
                                 hn::Vec<D> (&v)[16]) {
  RowSigns<D> signs(d, sign_draws, column);
#pragma GCC unroll 16
  for (std::size_t i = 0; i < 16; ++i) {
    const std::size_t r = 15 - i;
    const auto loaded = Elements<T>::load(d, input, first + 16 * r + column);
    v[r] = signs.next(hn::Mul(loaded, factor));
  }
}

/// What the blocks of a run have in common.
template <class Real>
struct ThcEncoder {
  const ThcFormat& format;
  const ThcDraws& draws;
  Form form;
  SmallTable table;
  ThcScratch<Real>& scratch;

  ThcEncoder(const ThcFormat& f, const ThcDraws& d, Form w)
      : format(f), draws(d), form(w), table(f), scratch(ThcScratch<Real>::of_thread()) {
    if (sizeof(Real) == 8) table.usable = false;  // f64 goes by the grid
  }

  unsigned width() const {
    return form == Form::narrow ? format.narrow_width : format.wide_width;
  }
  bool straight_to_words() const {
    return format.rotation == 256 && table.usable && width() == (form == Form::narrow ? 4 : 8);
  }
};

/// What a block of one frame needs besides its elements. Drawn for several blocks ahead, because the
/// draws are long chains of dependent steps, which the processor overlaps with each other but hardly
/// with the previous block's rotation.
struct FramePreparation {
  alignas(64) DitherBytes dithers;
  alignas(64) std::uint32_t sign_draws[16];

  HWY_INLINE void draw(const ThcFormat& format, const ThcDraws& draws, std::uint64_t q) {
    draw_signs(body::frame(draws.sign_key, q), sign_draws);
    draw_dithers(dither_of_frame(format, draws, q), dithers);
  }
};
inline constexpr std::size_t prepared_frames = 8;

/// A block of one frame, 4-bit indices or 8-bit levels.
template <class T>
HWY_INLINE void encode_frame(const ThcEncoder<float>& encoder, const TableVectors& table,
                             const FramePreparation& prepared, const void* input,
                             std::size_t first, float factor, std::uint64_t* words) {
  const hn::ScalableTag<float> d;
  const auto scale = hn::Set(d, factor);
  rotate_frame(
      d,
      [&](std::size_t column, hn::Vec<decltype(d)>(&v)[16]) __attribute__((always_inline)) {
        load_scaled_rows<T>(d, input, first, scale, prepared.sign_draws, column, v);
      },
      [&](std::size_t column, hn::Vec<decltype(d)>(&v)[16]) __attribute__((always_inline)) {
        U16 s[8];
        quantize_rows(table, prepared.dithers, encoder.format.intervals, column, v, s);
        if (encoder.form == Form::narrow)
          store_nibbles(s, words + column);
        else
          store_level_bytes(table, s, words + column);
      });
}

/// rotated := the scaled block with its signs, after the strides of 256 and more.
template <class T, class Real>
void rotate_across_frames(const ThcEncoder<Real>& encoder, std::uint64_t first_frame,
                          const void* input, std::size_t first, Real factor, Real* rotated) {
  const hn::ScalableTag<Real> d;
  const std::size_t frames = encoder.format.rotation / 256;
  for (std::size_t f = 0; f < frames; ++f) {
    std::uint32_t sign_draws[16];
    draw_signs(body::frame(encoder.draws.sign_key, first_frame + f), sign_draws);
    for (std::size_t column = 0; column < 16; column += hn::MaxLanes(d)) {
      hn::Vec<decltype(d)> v[16];
      load_scaled_rows<T>(d, input, first + 256 * f, hn::Set(d, factor), sign_draws, column, v);
#pragma GCC unroll 16
      for (std::size_t r = 0; r < 16; ++r)
        hn::Store(v[r], d, rotated + 256 * f + 16 * r + column);
    }
  }
  rotate_frames(d, rotated, frames);
}

/// values and levels (either may be null) := indices and levels of a frame of `rotated`.
template <class Real>
void quantize_frame(const ThcEncoder<Real>& encoder, std::uint64_t q, const Real* rotated,
                    std::uint16_t* values, std::uint16_t* levels) {
  const hn::ScalableTag<Real> d;
  using Rows = hn::Vec<decltype(d)>[16];
  const FrameDither dither = dither_of_frame(encoder.format, encoder.draws, q);
  const auto load = [&](std::size_t column, Rows& v) __attribute__((always_inline)) {
#pragma GCC unroll 16
    for (std::size_t r = 0; r < 16; ++r) v[r] = hn::Load(d, rotated + 16 * r + column);
  };
  if constexpr (sizeof(Real) == 4) {
    if (encoder.table.usable) {
      const TableVectors table(encoder.table);
      DitherBytes dithers;
      draw_dithers(dither, dithers);
      rotate_frame(d, load, [&](std::size_t column, Rows& v) __attribute__((always_inline)) {
        U16 s[8];
        quantize_rows(table, dithers, encoder.format.intervals, column, v, s);
        if (values != nullptr) store_values<false>(table, s, column, values);
        if (levels != nullptr) store_values<true>(table, s, column, levels);
      });
      return;
    }
  }
  std::int32_t* grid = encoder.scratch.grid.of(256);
  rotate_frame(d, load, [&](std::size_t column, Rows& v) __attribute__((always_inline)) {
    store_grid(d, v, encoder.format.intervals, column, grid);
  });
  quantize_grid(encoder.format, dither, grid, values, levels);
}

/// A block of one or more frames, any format. `feedback`, if not null, is the block's own.
template <class T>
void encode_block(const ThcEncoder<typename Elements<T>::Real>& encoder, std::uint64_t first_frame,
                  const void* input, std::size_t first,
                  body::Norm<typename Elements<T>::Real> norm, void* feedback,
                  std::uint64_t* words) {
  using Real = typename Elements<T>::Real;
  const std::size_t count = encoder.format.rotation;
  Real* rotated = encoder.scratch.rotated.of(count);
  const auto scale = body::encode_scale_of(encoder.format.encode_scale, norm);
  rotate_across_frames<T>(encoder, first_frame, input, first, scale.factor, rotated);
  const bool need_values = encoder.form == Form::narrow;
  const bool need_levels = encoder.form == Form::wide || feedback != nullptr;
  std::uint16_t* values = encoder.scratch.values.of(count + pack_padding);
  std::uint16_t* levels = encoder.scratch.levels.of(count + pack_padding);
  for (std::size_t f = 0; f < count / 256; ++f)
    quantize_frame(encoder, first_frame + f, rotated + 256 * f,
                   need_values ? values + 256 * f : nullptr,
                   need_levels ? levels + 256 * f : nullptr);
  std::uint16_t* lanes = need_values ? values : levels;
  std::memset(lanes + count, 0, pack_padding * sizeof *lanes);
  pack_block(lanes, count, encoder.width(), words);
  if (feedback != nullptr)
    subtract_own(encoder.format, encoder.draws, first_frame, levels, norm,
                 encoder.scratch.own.of(count), feedback);
}

template <class T>
void encode_run(const ThcFormat& format, const ThcDraws& draws, const ThcRun& run,
                const void* input, void* feedback, const std::uint32_t* codes, Form form,
                std::uint64_t* words) {
  using Real = typename Elements<T>::Real;
  const ThcEncoder<Real> encoder(format, draws, form);
  const TableVectors table(encoder.table);
  const std::size_t size = format.rotation;
  const std::size_t block_words = body::words_per_block(size, encoder.width());
  const bool vectors = size >= 256 && encoder.width() <= 16;
  const std::size_t end = vectors ? run.count / size * size : 0;
  const bool straight = encoder.straight_to_words() && feedback == nullptr;
  FramePreparation prepared[prepared_frames];
  for (std::size_t offset = 0; offset < end; offset += size) {
    const std::size_t ahead = offset / size % prepared_frames;
    if (straight && ahead == 0)
      for (std::size_t k = 0; k < prepared_frames; ++k)
        prepared[k].draw(format, draws, (run.first + offset) / 256 + k);
    const std::uint32_t code = codes[offset / size];
    std::uint64_t* out = words + offset / size * block_words;
    if (code == 0 || code == escaped_code) {
      std::memset(out, 0, block_words * sizeof *out);
      continue;
    }
    const auto norm = body::norm_of_code<Real>(code);
    const std::uint64_t q = (run.first + offset) / 256;
    if (!has_one_factor(norm)) {
      encode_part(format, draws, run, offset, size, input, feedback, codes, form, block_words,
                  words);
    } else if (feedback != nullptr) {
      void* own = advanced(feedback, offset * sizeof(Real));
      encode_block<Real>(encoder, q, own, 0, norm, own, out);
    } else if (straight) {
      if constexpr (sizeof(Real) == 4)
        encode_frame<T>(encoder, table, prepared[ahead], input, offset,
                        body::encode_scale_of(format.encode_scale, norm).factor, out);
    } else {
      encode_block<T>(encoder, q, input, offset, norm, nullptr, out);
    }
  }
  if (end < run.count)
    encode_part(format, draws, run, end, run.count - end, input, feedback, codes, form, block_words,
                words);
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
