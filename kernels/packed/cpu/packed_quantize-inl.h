// Values of a group to integers, as body/packed_quantize.hpp defines them.

#if defined(COHOM_PACKED_QUANTIZE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_PACKED_QUANTIZE_INL_H
#undef COHOM_PACKED_QUANTIZE_INL_H
#else
#define COHOM_PACKED_QUANTIZE_INL_H
#endif

#include "kernels/core/cpu/element_vectors-inl.h"
#include "kernels/packed/body/packed_quantize.hpp"
#include "kernels/packed/cpu/packed_dither-inl.h"
#include "kernels/packed/cpu/packed_reals-inl.h"

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// What became of a group. Its integers are in one of two places: most groups' fit 16 bits, and are
/// narrowed while they are in registers.
struct QuantizedGroup {
  alignas(64) std::int32_t integers[packed_group];
  alignas(64) std::int16_t narrow_integers[packed_group];  ///< as narrow_signed() leaves them
  bool narrow = false;
  std::uint32_t outliers = 0;  ///< bit m: mini-block m; its integers are 0
  std::uint32_t kept = ~0u;    ///< not dropped; integers that are not may be left
  std::uint32_t largest = 0;   ///< no integer has a larger magnitude

  /// Enough planes for them; a multiple of 4, for few cases to tell apart.
  [[nodiscard]] std::size_t planes() const {
    return (std::size_t(std::bit_width(largest)) + 1 + 3) / 4 * 4;
  }
};

/// Quantises elements of T in arithmetic of Real.
template <class T, class Real>
class GroupQuantizer {
 public:
  explicit GroupQuantizer(const PackedQuantizer& quantizer)
      : quantizer_(quantizer),
        scale_(quantizer),
        inverse_(hn::Set(d_, scale_.inverse)),
        narrow_limit_(std::min(scale_.limit, Real{32766})) {}

  [[nodiscard]] Real step() const { return scale_.step; }
  /// Whether zeros give zeros.
  [[nodiscard]] bool usable() const {
    return magnitude_bits(scale_.inverse) < body::FloatFormat<Real>::infinity;
  }

  /// The group of `values` that starts at element `first` of the vector; `wide`: its integers are
  /// to have 32 bits.
  HWY_INLINE void quantize(std::size_t first, const void* values, bool wide,
                           QuantizedGroup& group) {
    group.outliers = 0;
    if constexpr (sizeof(Real) == 4) {
      group.narrow = !wide && narrows_;
      if (group.narrow) {
        const Real largest = round_any<true>(first, values, group);
        if (largest <= narrow_limit_) return set_largest(largest, group);
        narrows_ = false;  // its neighbours will be wide as well
      }
    }
    group.narrow = false;
    const Real largest = round_any<false>(first, values, group);
    set_largest(largest <= scale_.limit ? largest : set_outliers(values, group), group);
  }

  /// Makes zeros of what was dropped.
  static HWY_INLINE void clear_dropped(QuantizedGroup& group) {
    for (std::uint32_t left = ~group.kept; left != 0; left &= left - 1)
      clear(static_cast<std::size_t>(__builtin_ctz(left)), group);
    group.kept = ~0u;
  }

 private:
  using Bits = typename body::FloatFormat<Real>::Bits;
  using SignedBits = hn::RebindToSigned<RealLanes<Real>>;
  using Magnitudes = hn::Vec<SignedBits>;
  static constexpr std::size_t lanes_ = hn::MaxLanes(RealLanes<Real>());
  static constexpr RealLanes<Real> d_{};
  static constexpr SignedBits bits_{};

  static Bits magnitude_bits(Real value) { return body::magnitude_bits(value); }
  static HWY_INLINE Magnitudes magnitudes(Full<Real> v) {
    const auto mask = hn::Set(
        bits_, static_cast<hn::TFromD<SignedBits>>(body::FloatFormat<Real>::magnitude_mask));
    return hn::And(hn::BitCast(bits_, v), mask);
  }
  static HWY_INLINE Real largest_of(Magnitudes v) {
    return body::from_bits<Real>(static_cast<Bits>(hn::GetLane(hn::MaxOfLanes(bits_, v))));
  }
  static HWY_INLINE void clear(std::size_t m, QuantizedGroup& group) {
    std::fill_n(group.integers + m * packed_mini, packed_mini, 0);
  }

  /// Where rounded vectors go, one behind the other. Narrow ones go by twos.
  template <bool narrow>
  class Sink {
   public:
    explicit HWY_INLINE Sink(QuantizedGroup& group) : group_(group) {}

    HWY_INLINE void put(std::size_t i, hn::Vec<IntegerLanes<Real>> v) {
      if constexpr (!narrow) {
        hn::Store(v, IntegerLanes<Real>(), group_.integers + i);
      } else if (i / lanes_ % 2 == 0) {
        held_ = v;
      } else {
        hn::Store(narrow_signed(held_, v), hn::ScalableTag<std::int16_t>(),
                  group_.narrow_integers + i - lanes_);
      }
    }

   private:
    QuantizedGroup& group_;
    hn::Vec<IntegerLanes<Real>> held_ = hn::Undefined(IntegerLanes<Real>());
  };

  /// Rounds a row of 16; j is the row's number modulo 4.
  template <bool dithered, std::size_t j, bool narrow>
  HWY_INLINE Magnitudes round_row(const void* values, std::size_t row, Full<Real> inverse,
                                  Sink<narrow>& sink) const {
    Magnitudes largest = hn::Zero(bits_);
    prefetch_row<T>(values, 16 * row);
#pragma GCC unroll 8
    for (std::size_t column = 0; column < 16; column += lanes_) {
      const std::size_t i = 16 * row + column;
      Full<Real> v = hn::Mul(load_as<T, Real>(values, i), inverse);
      largest = column == 0 ? magnitudes(v) : hn::Max(largest, magnitudes(v));
      if constexpr (dithered)
        sink.put(i, rounded_down<Real>(dithers_.template added<j, Real>(v, row % 16, column)));
      else
        sink.put(i, rounded_to_nearest<Real>(v));
    }
    return largest;
  }

  template <bool narrow>
  HWY_INLINE Real round_any(std::size_t first, const void* values, QuantizedGroup& group) {
    return quantizer_.dither == Dither::nearest ? round<false, narrow>(first, values, group)
                                                : round<true, narrow>(first, values, group);
  }

  /// All of a group as if there were no outliers; returns the largest magnitude in steps, NaN above
  /// all.
  template <bool dithered, bool narrow>
  HWY_INLINE Real round(std::size_t first, const void* values, QuantizedGroup& group) {
    Sink<narrow> sink(group);
    // Copies, because what is stored could otherwise be one of them.
    const Full<Real> inverse = inverse_;
    Magnitudes largest = hn::Zero(bits_);
    std::uint32_t kept = 0;
    const auto small = hn::Set(
        bits_, static_cast<hn::TFromD<SignedBits>>(body::bits_of(static_cast<Real>(0.7)) - 1));
    const auto note = [&](Magnitudes mini, std::size_t m) HWY_ATTR {
      const bool large = !hn::AllFalse(bits_, hn::Gt(mini, small));
      kept |= static_cast<std::uint32_t>(large) << m;
      largest = hn::Max(largest, mini);
    };
    for (std::size_t m = 0; m < packed_minis; m += 2) {
      if (dithered && m % 8 == 0) dithers_.draw(quantizer_, (first + m * packed_mini) / 256);
      const auto a = round_row<dithered, 0>(values, 2 * m, inverse, sink);
      const auto b = round_row<dithered, 1>(values, 2 * m + 1, inverse, sink);
      note(hn::Max(a, b), m);
      const auto c = round_row<dithered, 2>(values, 2 * m + 2, inverse, sink);
      const auto d = round_row<dithered, 3>(values, 2 * m + 3, inverse, sink);
      note(hn::Max(c, d), m + 1);
    }
    group.kept = quantizer_.drops_small ? kept : ~0u;
    return largest_of(largest);
  }

  /// Finds outliers; returns the largest magnitude of the rest.
  HWY_NOINLINE Real set_outliers(const void* values, QuantizedGroup& group) {
    Real kept = 0;
    for (std::size_t m = 0; m < packed_minis; ++m) {
      Magnitudes all = hn::Zero(bits_);
      for (std::size_t i = 0; i < packed_mini; i += lanes_) {
        const auto v = load_as<T, Real>(values, m * packed_mini + i);
        all = hn::Max(all, magnitudes(hn::Mul(v, inverse_)));
      }
      const Real largest = largest_of(all);
      if (largest <= scale_.limit) {
        kept = std::max(kept, largest);
      } else {
        group.outliers |= std::uint32_t{1} << m;
        clear(m, group);
      }
    }
    return kept;
  }

  HWY_INLINE void set_largest(Real largest, QuantizedGroup& group) const {
    group.largest = static_cast<std::uint32_t>(
        quantizer_.dither == Dither::nearest ? std::nearbyint(largest) : largest + 1);
  }

  const PackedQuantizer& quantizer_;
  body::PackedScale<Real> scale_;
  Full<Real> inverse_;
  Real narrow_limit_;  ///< so that rounding up still gives 16 bits
  bool narrows_ = true;
  FrameDithers dithers_;
};

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
