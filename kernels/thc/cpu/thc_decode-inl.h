// Decoding runs of sums of blocks of at least a frame.
//
// Far into a large vector, blocks are decoded into the first cache and streamed out from there past
// all caches: the user will not find so much output in a cache anyway, and memory is spared reading
// every line before it is overwritten.

#if defined(COHOM_THC_DECODE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_THC_DECODE_INL_H
#undef COHOM_THC_DECODE_INL_H
#else
#define COHOM_THC_DECODE_INL_H
#endif

#include "kernels/core/cpu/cached_output.hpp"
#include "kernels/core/cpu/element_vectors-inl.h"
#include "kernels/core/cpu/lanes-inl.h"
#include "kernels/thc/cpu/thc_blocks.hpp"
#include "kernels/thc/cpu/thc_byte_sums-inl.h"
#include "kernels/thc/cpu/thc_restore-inl.h"
#include "kernels/thc/cpu/thc_scratch.hpp"

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Copies past the caches. Lines that the target has only in part are written normally.
HWY_INLINE void stream(const std::uint8_t* source, std::size_t bytes, std::uint8_t* target) {
  const hn::ScalableTag<std::uint8_t> d;
  constexpr std::size_t line = 64;
  const std::size_t head = -reinterpret_cast<std::uintptr_t>(target) % line;
  std::memcpy(target, source, head);
  const std::size_t end = head + (bytes - head) / line * line;
  for (std::size_t i = head; i < end; i += hn::MaxLanes(d))
    hn::Stream(hn::LoadU(d, source + i), d, target + i);
  std::memcpy(target + end, source + end, bytes - end);
}

/// Calls visit(offset, norm) for every whole block that has something to decode; does all others.
template <class T, class Visit>
HWY_INLINE void for_each_coded_block(const DecodeCall& call, Visit visit) {
  using Real = typename Elements<T>::Real;
  const std::size_t size = call.format.rotation;
  const std::size_t end = call.run.count / size * size;
  for (std::size_t offset = 0; offset < end; offset += size) {
    const std::uint32_t code = call.codes[offset / size];
    if (code == outlier_code) continue;
    if (code == 0) {
      std::memset(call.output_at(offset), 0, size * sizeof(T));
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

/// What writes finished elements of type T from vectors of Real: divided, rounded.
template <class T>
class ElementWriter {
  using Real = typename Elements<T>::Real;
  using D = hn::ScalableTag<Real>;

 public:
  HWY_INLINE explicit ElementWriter(std::uint64_t divisor)
      : divide_(divisor > 1), divisor_(hn::Set(D(), static_cast<Real>(divisor))) {}

  HWY_INLINE void write(hn::Vec<D> v, void* output, std::size_t index) const {
    if (divide_) v = hn::Div(v, divisor_);
    Elements<T>::store(D(), v, output, index);
  }

 private:
  bool divide_;
  hn::Vec<D> divisor_;
};

/// Sign draws of a run's frames, eight at a time (see FramePreparation).
class PreparedSigns {
 public:
  HWY_INLINE const std::uint32_t (&of(const DecodeCall& call, std::size_t offset))[16] {
    const std::size_t group = offset / 256 / count;
    if (group != group_) {
      group_ = group;
      for (std::size_t k = 0; k < count; ++k) {
        const std::uint64_t q = call.frame_at(256 * (group * count + k));
        draw_signs(body::frame(call.draws.sign_key, q), draws_[k]);
      }
    }
    return draws_[offset / 256 % count];
  }

 private:
  static constexpr std::size_t count = 8;
  alignas(64) std::uint32_t draws_[count][16];
  std::size_t group_ = ~std::size_t{0};
};

/// Blocks of one frame in 8-bit lanes. With `streamed`, by way of a buffer in the first cache.
template <class T, bool streamed>
void decode_frames(const DecodeCall& call) {
  const hn::ScalableTag<float> d;
  const ElementWriter<T> writer(call.divisor);
  PreparedSigns signs;
  alignas(64) std::uint8_t buffer[256 * sizeof(T)];
  for_each_coded_block<T>(
      call, [&](std::size_t offset, body::Norm<float> norm) __attribute__((always_inline)) {
        const auto scale = body::decode_scale_of(call.format.decode_scale, 256, norm);
        void* out = streamed ? buffer : call.output_at(offset);
        const std::uint64_t* words = call.words_at(offset);
        for (std::size_t i = 0; i < 32; i += 8) __builtin_prefetch(words + i + 128);
        decode_bytes(
            words, static_cast<std::int32_t>(call.bias()), signs.of(call, offset), scale.factor,
            [&](std::size_t i, hn::Vec<decltype(d)> v)
                __attribute__((always_inline)) { writer.write(v, out, i); });
        if (streamed)
          stream(buffer, sizeof buffer, static_cast<std::uint8_t*>(call.output_at(offset)));
      });
  // Streamed lines are not ordered with what follows, such as telling another thread.
  if (streamed) hwy::FlushStream();
}

/// Blocks of one or more frames, any lanes up to 16 bits.
template <class T>
void decode_blocks(const DecodeCall& call) {
  using Real = typename Elements<T>::Real;
  const hn::ScalableTag<Real> d;
  auto& scratch = ThcScratch<Real>::of_thread();
  const ElementWriter<T> writer(call.divisor);
  const std::size_t size = call.format.rotation;
  std::uint16_t* values = scratch.values.of(size + pack_padding);
  Real* rotated_block = scratch.rotated.of(size);
  for_each_coded_block<T>(call, [&](std::size_t offset, body::Norm<Real> norm) HWY_ATTR {
    unpack_block(call.words_at(offset), size, call.format.wide_width, values);
    const auto scale = body::decode_scale_of(call.format.decode_scale, size, norm);
    void* out = call.output_at(offset);
    restore_block(
        call.format, call.draws, call.frame_at(offset), call.contributions, values, scale.factor,
        rotated_block, [&](std::size_t i, hn::Vec<decltype(d)> v) __attribute__((always_inline)) {
          writer.write(v, out, i);
        });
  });
}

template <class T>
void decode_run(const DecodeCall& call) {
  const ThcFormat& format = call.format;
  if (format.rotation < 256 || format.wide_width > 16 || call.bias() >= (1u << 30))
    return call.by_reference(0, call.run.count);
  if constexpr (sizeof(typename Elements<T>::Real) == 4) {
    if (format.rotation == 256 && format.wide_width == 8 && call.bias() < (1u << 15))
      return call.run.first * sizeof(T) >= cached_output_bytes ? decode_frames<T, true>(call)
                                                               : decode_frames<T, false>(call);
  }
  decode_blocks<T>(call);
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
