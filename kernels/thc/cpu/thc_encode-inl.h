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

#include "kernels/core/cpu/lanes-inl.h"
#include "kernels/thc/cpu/thc_blocks.hpp"
#include "kernels/thc/cpu/thc_byte_sums-inl.h"
#include "kernels/thc/cpu/thc_encode_frame-inl.h"
#include "kernels/thc/cpu/thc_restore-inl.h"
#include "kernels/thc/cpu/thc_scratch.hpp"

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Calls visit(offset, norm) for every whole block that has something to encode; does all others.
template <class Real, class Visit>
HWY_INLINE void for_each_coded_block(const EncodeCall& call, Visit visit) {
  const std::size_t size = call.format.rotation;
  const std::size_t end = call.run.count / size * size;
  for (std::size_t offset = 0; offset < end; offset += size) {
    const std::uint32_t code = call.codes[offset / size];
    if (code == 0 || code == outlier_code) {
      std::memset(call.words_at(offset), 0, body::words_per_block(size, call.width()) * 8);
      continue;
    }
    const auto norm = body::norm_of_code<Real>(code);
    if (has_one_factor(norm))
      visit(offset, norm);
    else
      call.by_reference(offset, size);
  }
  if (end < call.run.count) call.by_reference(end, call.run.count - end);
}

/// What a block of one frame needs besides its elements. Drawn for several blocks ahead, because
/// the draws are long chains of dependent steps, which the processor overlaps with each other but
/// hardly with the previous block's rotation.
struct FramePreparation {
  alignas(64) DitherBytes dithers;
  alignas(64) std::uint32_t sign_draws[16];

  HWY_INLINE void draw(const ThcFormat& format, const ThcDraws& draws, std::uint64_t q) {
    draw_signs(body::frame(draws.sign_key, q), sign_draws);
    draw_dithers(dither_of_frame(format, draws, q), dithers);
  }
};

/// The preparations of a run's frames, eight at a time.
class PreparedFrames {
 public:
  HWY_INLINE const FramePreparation& of(const EncodeCall& call, std::size_t offset) {
    const std::size_t group = offset / 256 / count;
    if (group != group_) {
      group_ = group;
      for (std::size_t k = 0; k < count; ++k)
        frames_[k].draw(call.format, call.draws, call.frame_at(256 * (group * count + k)));
    }
    return frames_[offset / 256 % count];
  }

 private:
  static constexpr std::size_t count = 8;
  FramePreparation frames_[count];
  std::size_t group_ = ~std::size_t{0};
};

/// feedback := feedback - what the 8-bit levels of one contribution stand for.
template <class Real>
HWY_INLINE void subtract_own_bytes(const EncodeCall& call, const FramePreparation& prepared,
                                   const std::uint64_t* levels, body::Norm<Real> norm,
                                   void* feedback) {
  const hn::ScalableTag<Real> d;
  const auto scale = body::decode_scale_of(call.format.decode_scale, 256, norm);
  const auto bias = static_cast<std::int32_t>(call.format.intervals);
  decode_bytes(
      levels, bias, prepared.sign_draws,
      scale.factor, [&](std::size_t i, hn::Vec<decltype(d)> own) __attribute__((always_inline)) {
        const auto v = Elements<Real>::load(d, feedback, i);
        Elements<Real>::store(d, hn::Sub(v, own), feedback, i);
      });
}

/// Blocks of one frame to 4-bit indices or 8-bit levels. T is the type of `source`, the user's
/// vector or the feedback.
template <class T, class Quantizer>
void encode_frames(const EncodeCall& call, const Quantizer& quantizer, const void* source) {
  using Real = typename Elements<T>::Real;
  const hn::ScalableTag<Real> d;
  PreparedFrames frames;
  alignas(64) std::int32_t grid[256];
  alignas(64) std::uint64_t own_levels[32];
  for_each_coded_block<Real>(
      call, [&](std::size_t offset, body::Norm<Real> norm) __attribute__((always_inline)) {
        const FramePreparation& prepared = frames.of(call, offset);
        const auto scale = body::encode_scale_of(call.format.encode_scale, norm);
        const auto factor = hn::Set(d, scale.factor);
        std::uint64_t* words = call.words_at(offset);
        rotate_and_quantize(
            d, quantizer, prepared.dithers, call.format.intervals, grid,
            [&](std::size_t column, hn::Vec<decltype(d)>(&v)[16]) __attribute__((always_inline)) {
              load_scaled_rows<T>(d, source, offset, factor, prepared.sign_draws, column, v);
            },
            [&](std::size_t column, const U16(&s)[8]) __attribute__((always_inline)) {
              if (call.form == Form::narrow)
                store_nibbles(s, words + column);
              else
                store_level_bytes(quantizer, s, words + column);
              if (call.feedback != nullptr) store_level_bytes(quantizer, s, own_levels + column);
            },
            [&](std::size_t r)
                __attribute__((always_inline)) { prefetch_row<T>(source, offset + 16 * r); });
        if constexpr (sizeof(Real) == 4)
          if (call.feedback != nullptr)
            subtract_own_bytes(call, prepared, own_levels, norm, call.feedback_at(offset));
      });
}

/// rotated := the scaled block with its signs, after the strides of 256 and more.
template <class T, class Real>
void rotate_across_frames(const EncodeCall& call, std::size_t offset, const void* source,
                          Real factor, Real* rotated) {
  const hn::ScalableTag<Real> d;
  const std::size_t size = call.format.rotation;
  for (std::size_t f = 0; f < size; f += 256) {
    std::uint32_t sign_draws[16];
    draw_signs(body::frame(call.draws.sign_key, call.frame_at(offset + f)), sign_draws);
    for (std::size_t column = 0; column < 16; column += hn::MaxLanes(d)) {
      hn::Vec<decltype(d)> v[16];
      load_scaled_rows<T>(d, source, offset + f, hn::Set(d, factor), sign_draws, column, v);
#pragma GCC unroll 16
      for (std::size_t r = 0; r < 16; ++r) {
        if (column == 0) prefetch_row<T>(source, offset + f + 16 * r);
        hn::Store(v[r], d, rotated + f + 16 * r + column);
      }
    }
  }
  rotate_frames(d, rotated, size / 256);
}

/// Blocks of one or more frames. quantize(dither, frame, values, levels) is quantize_frame() of one
/// kind or another.
template <class T, class Quantize>
void encode_blocks(const EncodeCall& call, const void* source, Quantize quantize) {
  using Real = typename Elements<T>::Real;
  auto& scratch = ThcScratch<Real>::of_thread();
  const std::size_t size = call.format.rotation;
  Real* rotated = scratch.rotated.of(size);
  std::uint16_t* values = scratch.values.of(size + pack_padding);
  std::uint16_t* levels = scratch.levels.of(size + pack_padding);
  const bool narrow_form = call.form == Form::narrow;
  std::uint16_t* lanes = narrow_form ? values : levels;
  std::memset(lanes + size, 0, pack_padding * sizeof *lanes);
  const bool need_levels = !narrow_form || call.feedback != nullptr;
  for_each_coded_block<Real>(call, [&](std::size_t offset, body::Norm<Real> norm) HWY_ATTR {
    const auto scale = body::encode_scale_of(call.format.encode_scale, norm);
    rotate_across_frames<T>(call, offset, source, scale.factor, rotated);
    for (std::size_t f = 0; f < size; f += 256)
      quantize(dither_of_frame(call.format, call.draws, call.frame_at(offset + f)), rotated + f,
               narrow_form ? values + f : nullptr, need_levels ? levels + f : nullptr);
    pack_block(lanes, size, call.width(), call.words_at(offset));
    if (call.feedback != nullptr)
      subtract_own(call.format, call.draws, call.frame_at(offset), levels, norm,
                   scratch.own.of(size), call.feedback_at(offset));
  });
}

template <class T, class Quantizer>
void encode_with(const EncodeCall& call, const Quantizer& quantizer, bool nibbles,
                 const void* source) {
  using Real = typename Elements<T>::Real;
  const bool straight =
      call.format.rotation == 256 &&
      (call.form == Form::narrow ? nibbles && call.width() == 4 : call.width() == 8) &&
      (call.feedback == nullptr || sizeof(Real) == 4);
  if (straight) return encode_frames<T>(call, quantizer, source);
  std::int32_t* grid = ThcScratch<Real>::of_thread().grid.of(256);
  encode_blocks<T>(call, source,
                   [&](const FrameDither& dither, const Real* frame, std::uint16_t* values,
                       std::uint16_t* levels) HWY_ATTR {
                     quantize_frame(hn::ScalableTag<Real>(), quantizer, dither,
                                    call.format.intervals, grid, frame, values, levels);
                   });
}

template <class T>
void encode_source(const EncodeCall& call, const void* source) {
  using Real = typename Elements<T>::Real;
  if (call.format.rotation < 256 || call.width() > 16) return call.by_reference(0, call.run.count);
  const SmallTable table(call.format);
  if (table.usable) return encode_with<T>(call, TableQuantizer(table), true, source);
  if (!call.format.table && call.format.intervals <= 255)
    return encode_with<T>(call, LevelQuantizer(), false, source);
  std::int32_t* grid = ThcScratch<Real>::of_thread().grid.of(256);
  encode_blocks<T>(call, source,
                   [&](const FrameDither& dither, const Real* frame, std::uint16_t* values,
                       std::uint16_t* levels) HWY_ATTR {
                     quantize_frame_by_grid(hn::ScalableTag<Real>(), call.format, dither, grid,
                                            frame, values, levels);
                   });
}

template <class T>
void encode_run(const EncodeCall& call) {
  if (call.feedback == nullptr) return encode_source<T>(call, call.input);
  encode_source<typename Elements<T>::Real>(call, call.feedback);
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
