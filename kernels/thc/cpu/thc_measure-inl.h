// Norm codes of a run's blocks (docs/wire-format.md, "Norm code").

#if defined(COHOM_THC_MEASURE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_THC_MEASURE_INL_H
#undef COHOM_THC_MEASURE_INL_H
#else
#define COHOM_THC_MEASURE_INL_H
#endif

#include "kernels/core/cpu/element_vectors-inl.h"
#include "kernels/thc/body/norm_code.hpp"
#include "kernels/thc/cpu/thc_blocks.hpp"

#include <hwy/highway.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Folds lane l + n/2 onto lane l until one is left: the order the format prescribes.
template <class D>
HWY_INLINE hn::TFromD<D> folded(D d, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(D()) == 1) {
    return hn::GetLane(v);
  } else {
    const hn::Half<D> half;
    (void)d;
    return folded(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

/// Bits of the largest magnitude among `count` elements from `first` on.
template <class T>
HWY_INLINE auto largest_magnitude(const void* input, std::size_t first, std::size_t count) {
  using Real = typename Elements<T>::Real;
  const hn::ScalableTag<Real> d;
  const hn::RebindToSigned<decltype(d)> bits;
  constexpr std::size_t lanes = hn::MaxLanes(d);
  const auto mask = hn::Set(bits, hwy::LimitsMax<hn::TFromD<decltype(bits)>>());
  hn::Vec<decltype(bits)> largest[4] = {hn::Zero(bits), hn::Zero(bits), hn::Zero(bits),
                                        hn::Zero(bits)};
  for (std::size_t i = 0; i < count; i += 4 * lanes)
#pragma GCC unroll 4
    for (std::size_t k = 0; k < 4; ++k) {
      const auto v = hn::BitCast(bits, Elements<T>::load(d, input, first + i + k * lanes));
      largest[k] = hn::Max(largest[k], hn::And(v, mask));
    }
  const auto all = hn::Max(hn::Max(largest[0], largest[1]), hn::Max(largest[2], largest[3]));
  using Bits = typename body::FloatFormat<Real>::Bits;
  return static_cast<Bits>(hn::GetLane(hn::MaxOfLanes(bits, all)));
}

/// body::frame_energy of a whole frame.
template <class T, bool two_factors, class Real>
HWY_INLINE Real frame_energy(const void* input, std::size_t first, Real a, Real b) {
  const hn::ScalableTag<Real> d;
  constexpr std::size_t lanes = hn::MaxLanes(d);
  constexpr std::size_t vectors = 16 / lanes;
  const auto va = hn::Set(d, a);
  const auto vb = hn::Set(d, b);
  hn::Vec<decltype(d)> sums[vectors];
#pragma GCC unroll 8
  for (std::size_t k = 0; k < vectors; ++k) sums[k] = hn::Zero(d);
#pragma GCC unroll 16
  for (std::size_t r = 0; r < 16; ++r) {
    prefetch_row<T>(input, first + 16 * r);
#pragma GCC unroll 8
    for (std::size_t k = 0; k < vectors; ++k) {
      auto w = hn::Mul(Elements<T>::load(d, input, first + 16 * r + k * lanes), va);
      if (two_factors) w = hn::Mul(w, vb);
      sums[k] = hn::Add(sums[k], hn::Mul(w, w));
    }
  }
#pragma GCC unroll 4
  for (std::size_t half = vectors / 2; half > 0; half /= 2)
#pragma GCC unroll 4
    for (std::size_t k = 0; k < half; ++k) sums[k] = hn::Add(sums[k], sums[k + half]);
  return folded(d, sums[0]);
}

/// body::norm_code of a block of whole frames.
template <class T>
HWY_INLINE std::uint32_t norm_code_of_block(const void* input, std::size_t first,
                                            std::size_t count) {
  using Real = typename Elements<T>::Real;
  using Format = body::FloatFormat<Real>;
  const auto largest = largest_magnitude<T>(input, first, count);
  if (largest == 0) return 0;
  if (largest >= Format::infinity) return outlier_code;
  constexpr int limit = Format::bias - 1;
  const int exponent = body::floor_log2<Real>(largest);
  const int scale = exponent > limit ? -limit : -exponent > limit ? limit : -exponent;
  const Real a = body::power_of_two<Real>(scale);
  const Real b = body::power_of_two<Real>(-exponent - scale);
  Real energy = 0;
  for (std::size_t i = first; i < first + count; i += 256)
    energy += b == Real{1} ? frame_energy<T, false>(input, i, a, b)
                           : frame_energy<T, true>(input, i, a, b);
  return body::norm_code_of(std::sqrt(energy), exponent);
}

/// feedback := input + feedback.
template <class T>
HWY_INLINE void add_to_feedback(const void* input, std::size_t first, std::size_t count,
                                void* feedback) {
  using Real = typename Elements<T>::Real;
  const hn::ScalableTag<Real> d;
  for (std::size_t i = first; i < first + count; i += hn::MaxLanes(d)) {
    const auto sum = hn::Add(Elements<T>::load(d, input, i), Elements<Real>::load(d, feedback, i));
    Elements<Real>::store(d, sum, feedback, i);
  }
}

template <class T>
void measure_run(const ThcFormat& format, const ThcRun& run, const void* input, void* feedback,
                 std::uint32_t* codes) {
  using Real = typename Elements<T>::Real;
  const std::size_t size = format.rotation;
  const std::size_t end = size >= 256 ? run.count / size * size : 0;
  for (std::size_t offset = 0; offset < end; offset += size) {
    if (feedback != nullptr) add_to_feedback<T>(input, offset, size, feedback);
    codes[offset / size] = feedback != nullptr ? norm_code_of_block<Real>(feedback, offset, size)
                                               : norm_code_of_block<T>(input, offset, size);
  }
  if (end < run.count)
    scalar_thc().measure(format, part_of(run, end, run.count - end),
                         advanced(input, end * sizeof(T)), advanced(feedback, end * sizeof(Real)),
                         codes + end / size);
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
