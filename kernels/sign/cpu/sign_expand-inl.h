// Signs and counts back to elements.

#if defined(COHOM_SIGN_EXPAND_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_SIGN_EXPAND_INL_H
#undef COHOM_SIGN_EXPAND_INL_H
#else
#define COHOM_SIGN_EXPAND_INL_H
#endif

#include "kernels/core/cpu/cached_output.hpp"
#include "kernels/core/cpu/element_vectors-inl.h"
#include "kernels/core/cpu/lanes-inl.h"
#include "kernels/sign/body/sign.hpp"

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Whether output goes around the caches: past what they hold, and where vectors can be stored so.
template <class T>
HWY_INLINE bool streams_output(const SignRun& run, const void* output) {
  const bool aligned = reinterpret_cast<std::uintptr_t>(output) % HWY_MAX_BYTES == 0;
  return sizeof(T) >= 4 && aligned && run.first * sizeof(T) >= cached_output_bytes;
}

template <class T, bool streams, class D>
HWY_INLINE void put_output(D d, hn::Vec<D> v, void* output, std::size_t index) {
  if constexpr (streams && sizeof(T) >= 4)
    hn::Stream(v, d, element_at<T>(output, index));
  else
    Elements<T>::store(d, v, output, index);
}

template <class T>
HWY_INLINE void zero_block(void* output, std::size_t first) {
  using Real = typename Elements<T>::Real;
  const hn::ScalableTag<Real> d;
  for (std::size_t i = first; i < first + sign_block; i += hn::MaxLanes(d))
    Elements<T>::store(d, hn::Zero(d), output, i);
}

/// Calls put(element of the block, bit of minus at the top of the lanes) for every vector.
template <class Real, class Put>
HWY_INLINE void for_each_sign(const std::uint64_t* words, Put put) {
  const hn::ScalableTag<Real> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  using Bits = hn::TFromD<decltype(du)>;
  constexpr std::size_t rows = 8 * sizeof(Real);
  const auto top = hn::Set(du, Bits{1} << (rows - 1));
  for (std::size_t c = 0; c < 16; c += hn::MaxLanes(d)) {
    hn::Vec<decltype(du)> signs[2];
    if constexpr (rows == 64)
      signs[0] = hn::LoadU(du, words + c);
    else
      hn::LoadInterleaved2(du, reinterpret_cast<const std::uint32_t*>(words + c), signs[0],
                           signs[1]);
#pragma GCC unroll 2
    for (std::size_t half = 0; half < 64 / rows; ++half) {
      auto left = hn::Not(signs[half]);
#pragma GCC unroll 8
      for (std::size_t r = 0; r < rows; ++r) {
        const auto minus = hn::And(hn::ShiftLeft<rows - 1>(left), top);
        left = hn::ShiftRight<1>(left);
        put(16 * (half * rows + r) + c, hn::BitCast(d, minus));
      }
    }
  }
}

template <class T, bool compensated, bool streams>
HWY_INLINE void expand_block(const std::uint64_t* words, double scale, std::uint32_t ranks,
                             std::uint64_t divisor, void* state, void* output, std::size_t first) {
  using Real = typename Elements<T>::Real;
  const hn::ScalableTag<Real> d;
  const auto value = hn::Set(d, body::sign_value<Real>(scale, ranks, divisor));
  const auto own = hn::Set(d, static_cast<Real>(scale));
  for_each_sign<Real>(
      words, [&](std::size_t e, hn::Vec<decltype(d)> minus) __attribute__((always_inline)) {
        put_output<T, streams>(d, hn::Xor(value, minus), output, first + e);
        if constexpr (compensated) {
          const auto left = hn::Sub(Elements<Real>::load(d, state, first + e), hn::Xor(own, minus));
          Elements<Real>::store(d, left, state, first + e);
        }
      });
}

template <class T, bool streams>
void expand_blocks(const SignRun& run, const std::uint64_t* bits, const double* scales,
                   std::uint32_t ranks, std::uint64_t divisor, void* state, void* output) {
  for (std::size_t b = 0; b < run.count / sign_block; ++b) {
    const std::size_t first = b * sign_block;
    const std::uint64_t* const words = bits + 16 * b;
    if (scales[b] == 0)
      zero_block<T>(output, first);
    else if (scales[b] > 0 && state != nullptr)
      expand_block<T, true, streams>(words, scales[b], ranks, divisor, state, output, first);
    else if (scales[b] > 0)
      expand_block<T, false, streams>(words, scales[b], ranks, divisor, state, output, first);
  }
  if constexpr (streams) hwy::FlushStream();
}

template <class T>
void expand_run(const SignRun& run, const std::uint64_t* bits, const double* scales,
                std::uint32_t ranks, std::uint64_t divisor, void* state, void* output) {
  (streams_output<T>(run, output)
       ? expand_blocks<T, true>
       : expand_blocks<T, false>)(run, bits, scales, ranks, divisor, state, output);
}

template <class T, bool divides, bool streams>
HWY_INLINE void expand_values(const std::uint16_t* values, std::int32_t ranks, double scale,
                              std::uint64_t divisor, void* output, std::size_t first) {
  using Real = typename Elements<T>::Real;
  const hn::ScalableTag<Real> d;
  const hn::Rebind<std::int32_t, decltype(d)> d32;
  const hn::Rebind<std::uint16_t, decltype(d)> d16;
  const auto all = hn::Set(d32, ranks);
  const auto by = hn::Set(d, static_cast<Real>(divisor));
  const auto factor = hn::Set(d, static_cast<Real>(scale));
#pragma GCC unroll 4
  for (std::size_t e = 0; e < sign_block; e += hn::MaxLanes(d)) {
    const auto count = hn::PromoteTo(d32, hn::LoadU(d16, values + e));
    const auto votes = hn::Sub(hn::Add(count, count), all);
    hn::Vec<decltype(d)> v;
    if constexpr (sizeof(Real) == 4)
      v = hn::ConvertTo(d, votes);
    else
      v = hn::PromoteTo(d, votes);
    v = hn::Mul(v, factor);
    if constexpr (divides) v = hn::Div(v, by);
    put_output<T, streams>(d, v, output, first + e);
  }
}

template <class T, bool streams>
void expand_counted_blocks(const SignCounts& counts, const SignRun& run, const std::uint64_t* sum,
                           const double* scales, std::uint64_t divisor, void* output) {
  const std::size_t block_words = body::words_per_block(sign_block, counts.width);
  const auto ranks = static_cast<std::int32_t>(counts.ranks);
  std::uint16_t values[sign_block + pack_padding];
  for (std::size_t b = 0; b < run.count / sign_block; ++b) {
    const std::size_t first = b * sign_block;
    if (scales[b] == 0) zero_block<T>(output, first);
    if (!(scales[b] > 0)) continue;
    unpack_block(sum + b * block_words, sign_block, counts.width, values);
    if (divisor > 1)
      expand_values<T, true, streams>(values, ranks, scales[b], divisor, output, first);
    else
      expand_values<T, false, streams>(values, ranks, scales[b], divisor, output, first);
  }
  if constexpr (streams) hwy::FlushStream();
}

template <class T>
void expand_counts_run(const SignCounts& counts, const SignRun& run, const std::uint64_t* sum,
                       const double* scales, std::uint64_t divisor, void* output) {
  (streams_output<T>(run, output)
       ? expand_counted_blocks<T, true>
       : expand_counted_blocks<T, false>)(counts, run, sum, scales, divisor, output);
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
