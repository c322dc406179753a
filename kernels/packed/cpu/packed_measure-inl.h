// The histogram of mini-blocks' largest magnitudes.

#if defined(COHOM_PACKED_MEASURE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_PACKED_MEASURE_INL_H
#undef COHOM_PACKED_MEASURE_INL_H
#else
#define COHOM_PACKED_MEASURE_INL_H
#endif

#include "kernels/core/cpu/element_vectors-inl.h"
#include "kernels/packed/body/packed_quantize.hpp"
#include "kernels/packed/cpu/packed_rows.hpp"
#include "kernels/packed/cpu/plane_vectors-inl.h"

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Measures mini-blocks of elements T.
template <class T>
class MiniMaxima {
 public:
  using Real = typename Elements<T>::Real;

  HWY_INLINE MiniMaxima(const void* input, void* feedback) : input_(input), feedback_(feedback) {}

  /// Counts the four mini-blocks from element `first` on.
  HWY_INLINE void count_four(std::size_t first, std::uint32_t* bins) const {
    Magnitudes largest[4];
#pragma GCC unroll 4
    for (std::size_t m = 0; m < 4; ++m) largest[m] = of_mini(first + m * packed_mini);
    Bits maxima[4];
    fold(largest, maxima);
#pragma GCC unroll 4
    for (const Bits maximum : maxima) count(maximum, bins);
  }

 private:
  using D = hn::ScalableTag<Real>;
  using SignedBits = hn::RebindToSigned<D>;
  using Magnitudes = hn::Vec<SignedBits>;
  using Bits = typename body::FloatFormat<Real>::Bits;
  static constexpr D d_{};
  static constexpr SignedBits bits_{};
  static constexpr std::size_t lanes_ = hn::MaxLanes(D());

  HWY_INLINE Magnitudes of_mini(std::size_t first) const {
    const auto mask = hn::Set(
        bits_, static_cast<hn::TFromD<SignedBits>>(body::FloatFormat<Real>::magnitude_mask));
    Magnitudes largest = hn::Zero(bits_);
    prefetch_row<T>(input_, first);
    prefetch_row<T>(input_, first + packed_mini / 2);
#pragma GCC unroll 16
    for (std::size_t i = first; i < first + packed_mini; i += lanes_) {
      auto v = Elements<T>::load(d_, input_, i);
      if (feedback_ != nullptr) {
        v = hn::Add(v, Elements<Real>::load(d_, feedback_, i));
        Elements<Real>::store(d_, v, feedback_, i);
      }
      largest = hn::Max(largest, hn::And(hn::BitCast(bits_, v), mask));
    }
    return largest;
  }

  static HWY_INLINE void fold(const Magnitudes (&v)[4], Bits (&maxima)[4]) {
    if constexpr (sizeof(Real) == 8) {
#pragma GCC unroll 4
      for (std::size_t m = 0; m < 4; ++m)
        maxima[m] = static_cast<Bits>(hn::GetLane(hn::MaxOfLanes(bits_, v[m])));
    } else {
      // Four vectors to one, whose blocks each have a lane for every mini-block.
      const hn::ScalableTag<std::int64_t> d64;
      const auto ab =
          hn::Max(hn::InterleaveLower(bits_, v[0], v[1]), hn::InterleaveUpper(bits_, v[0], v[1]));
      const auto cd =
          hn::Max(hn::InterleaveLower(bits_, v[2], v[3]), hn::InterleaveUpper(bits_, v[2], v[3]));
      const auto low = hn::InterleaveLower(d64, hn::BitCast(d64, ab), hn::BitCast(d64, cd));
      const auto high = hn::InterleaveUpper(d64, hn::BitCast(d64, ab), hn::BitCast(d64, cd));
      const auto all =
          folded_blocks(bits_, hn::Max(hn::BitCast(bits_, low), hn::BitCast(bits_, high)));
      const hn::CappedTag<std::uint32_t, 4> block;
      hn::StoreU(hn::BitCast(block, all), block, maxima);
    }
  }

  template <class DV>
  static HWY_INLINE auto folded_blocks(DV d, hn::Vec<DV> v) {
    if constexpr (hn::MaxLanes(DV()) == 4) {
      (void)d;
      return v;
    } else {
      const hn::Half<DV> half;
      return folded_blocks(half, hn::Max(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
    }
  }

  static HWY_INLINE void count(Bits maximum, std::uint32_t* bins) {
    if (maximum < body::FloatFormat<Real>::infinity)
      ++bins[body::packed_bin(body::from_bits<Real>(maximum))];
  }

  const void* input_;
  void* feedback_;
};

template <class T>
void measure_run(const PackedRun& run, const void* input, void* feedback, std::uint32_t* bins) {
  using Real = typename Elements<T>::Real;
  constexpr std::size_t four = 4 * packed_mini;
  const std::size_t end = run.count / four * four;
  const MiniMaxima<T> whole(input, feedback);
  for (std::size_t first = 0; first < end; first += four) whole.count_four(first, bins);
  const std::size_t rest = run.count - end;
  if (rest == 0) return;
  const PackedRun tail{run.type, run.first + end, rest};
  scalar_packed().measure(tail, element_at<T>(input, end),
                          feedback == nullptr ? nullptr : element_at<Real>(feedback, end), bins);
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
