// Measuring blocks and packing their signs, 16 elements a row.

#if defined(COHOM_SIGN_PACK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_SIGN_PACK_INL_H
#undef COHOM_SIGN_PACK_INL_H
#else
#define COHOM_SIGN_PACK_INL_H
#endif

#include "kernels/core/cpu/element_vectors-inl.h"
#include "kernels/sign/body/sign.hpp"

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE hn::Vec<hn::RebindToSigned<D>> magnitude(D, hn::Vec<D> v) {
  const hn::RebindToSigned<D> di;
  constexpr auto mask = body::FloatFormat<hn::TFromD<D>>::magnitude_mask;
  return hn::And(hn::BitCast(di, v), hn::Set(di, static_cast<hn::TFromD<decltype(di)>>(mask)));
}

template <class D>
HWY_INLINE auto largest_of(D, hn::Vec<hn::RebindToSigned<D>> v) {
  const hn::RebindToSigned<D> di;
  using Bits = typename body::FloatFormat<hn::TFromD<D>>::Bits;
  HWY_ALIGN hn::TFromD<decltype(di)> lanes[hn::MaxLanes(D())];
  hn::Store(v, di, lanes);
  return static_cast<Bits>(*std::max_element(lanes, lanes + hn::MaxLanes(D())));
}

/// Stores input + state, and finds what decides the block's code.
template <class T, bool fed>
HWY_INLINE SignBlock look_at_block(const void* input, void* state, std::size_t first,
                                   bool of_input) {
  using Real = typename Elements<T>::Real;
  const hn::ScalableTag<Real> d;
  const hn::RebindToSigned<decltype(d)> di;
  auto own = hn::Zero(di), measured = hn::Zero(di);
  for (std::size_t row = first; row < first + sign_block; row += 16) {
#pragma GCC unroll 8
    for (std::size_t c = 0; c < 16; c += hn::MaxLanes(d)) {
      const auto x = Elements<T>::load(d, input, row + c);
      auto v = x;
      if constexpr (fed) {
        v = hn::Add(x, Elements<Real>::load(d, state, row + c));
        Elements<Real>::store(d, v, state, row + c);
        measured = hn::Max(measured, magnitude(d, x));
      }
      own = hn::Max(own, magnitude(d, v));
    }
    prefetch_row<T>(input, row);
  }
  const auto largest = largest_of(d, own);
  return body::block_of_magnitudes<Real>(fed && of_input ? largest_of(d, measured) : largest,
                                         largest);
}

/// Sum of magnitudes / 2^exponent of the elements of type T in `values`.
template <class T>
HWY_INLINE double sum_of_block(const void* values, std::size_t first, int exponent) {
  using Real = typename Elements<T>::Real;
  const hn::ScalableTag<Real> d;
  constexpr std::size_t columns = 16 / hn::MaxLanes(hn::ScalableTag<Real>());
  const body::UnitScale<Real> scale(exponent);
  const auto near = hn::Set(d, scale.first), rest = hn::Set(d, scale.second);
  hn::Vec<decltype(d)> sums[columns];
  for (auto& sum : sums) sum = hn::Zero(d);
  for (std::size_t row = first; row < first + sign_block; row += 16) {
#pragma GCC unroll 8
    for (std::size_t c = 0; c < columns; ++c) {
      const auto v = hn::Abs(Elements<T>::load(d, values, row + c * hn::MaxLanes(d)));
      sums[c] = hn::Add(sums[c], hn::Mul(hn::Mul(v, near), rest));
    }
  }
  HWY_ALIGN Real folded[16];
  for (std::size_t c = 0; c < columns; ++c) hn::Store(sums[c], d, folded + c * hn::MaxLanes(d));
  return static_cast<double>(body::folded(folded));
}

template <class T>
void measure_run(const SignRun& run, const void* input, void* state, bool of_input,
                 SignBlock* blocks) {
  using Real = typename Elements<T>::Real;
  for (std::size_t b = 0; b < run.count / sign_block; ++b) {
    const std::size_t first = b * sign_block;
    SignBlock& block = blocks[b];
    block = state != nullptr ? look_at_block<T, true>(input, state, first, of_input)
                             : look_at_block<T, false>(input, state, first, of_input);
    if (block.code == 0 || block.code == outlier_code) continue;
    const int exponent = static_cast<int>(block.code) - sign_exponent_offset;
    block.sum = state != nullptr && !of_input ? sum_of_block<Real>(state, first, exponent)
                                              : sum_of_block<T>(input, first, exponent);
  }
}

/// One request a line: a second one, as prefetch_row() makes, takes longer than packing the line
/// where the vector lies in the last cache.
template <class T>
HWY_INLINE void prefetch_signs(const void* values, std::size_t index) {
  const char* const ahead = reinterpret_cast<const char*>(element_at<T>(values, index)) + 4096;
  for (std::size_t line = 0; line < 16 * sizeof(T); line += 64)
    __builtin_prefetch(ahead + line, 0, 3);
}

/// A sign moves down from the top of a lane, one row after the other. With feedback the values lose
/// what their signs stand for.
template <class T, bool zeros_are_plus, class Keep>
HWY_INLINE void pack_block(const void* values, std::size_t first, std::uint64_t* words, Keep keep) {
  using Real = typename Elements<T>::Real;
  const hn::ScalableTag<Real> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  using Bits = hn::TFromD<decltype(du)>;
  constexpr std::size_t rows = 8 * sizeof(Real);
  const auto top = hn::Set(du, Bits{1} << (rows - 1));
  for (std::size_t c = 0; c < 16; c += hn::MaxLanes(d)) {
    hn::Vec<decltype(du)> signs[64 / rows];
#pragma GCC unroll 2
    for (std::size_t half = 0; half < 64 / rows; ++half) {
      auto packed = hn::Zero(du);
#pragma GCC unroll 8
      for (std::size_t r = 0; r < rows; ++r) {
        const std::size_t i = first + 16 * (half * rows + r) + c;
        const auto v = Elements<T>::load(d, values, i);
        const auto plus = zeros_are_plus ? hn::Ge(v, hn::Zero(d)) : hn::Gt(v, hn::Zero(d));
        packed =
            hn::Or(hn::ShiftRight<1>(packed), hn::IfThenElseZero(hn::RebindMask(du, plus), top));
        keep(v, plus, i);
        if (c == 0) prefetch_signs<T>(values, i);
      }
      signs[half] = packed;
    }
    if constexpr (rows == 64)
      hn::StoreU(signs[0], du, words + c);
    else
      hn::StoreInterleaved2(signs[0], signs[1], du, reinterpret_cast<std::uint32_t*>(words + c));
  }
}

HWY_INLINE void clear_block(std::uint64_t* words) {
  const hn::ScalableTag<std::uint64_t> d;
  for (std::size_t i = 0; i < 16; i += hn::MaxLanes(d)) hn::StoreU(hn::Zero(d), d, words + i);
}

template <class T, bool zeros_are_plus>
void pack_run(const SignRun& run, const void* values, const double* scales, std::uint64_t* bits) {
  for (std::size_t b = 0; b < run.count / sign_block; ++b) {
    if (!(scales[b] > 0)) {
      clear_block(bits + 16 * b);
      continue;
    }
    pack_block<T, zeros_are_plus>(values, b * sign_block, bits + 16 * b,
                                  [](auto, auto, std::size_t) {});
  }
}

template <class Real, bool zeros_are_plus>
void pack_feedback_run(const SignRun& run, void* state, const double* scales, std::uint64_t* bits) {
  const hn::ScalableTag<Real> d;
  for (std::size_t b = 0; b < run.count / sign_block; ++b) {
    if (!(scales[b] > 0)) {
      clear_block(bits + 16 * b);
      continue;
    }
    const auto plus_scale = hn::Set(d, static_cast<Real>(scales[b]));
    const auto minus_scale = hn::Neg(plus_scale);
    pack_block<Real, zeros_are_plus>(
        state, b * sign_block,
        bits + 16 * b, [&](auto v, auto plus, std::size_t i) __attribute__((always_inline)) {
          const auto own = hn::IfThenElse(plus, plus_scale, minus_scale);
          Elements<Real>::store(d, hn::Sub(v, own), state, i);
        });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
