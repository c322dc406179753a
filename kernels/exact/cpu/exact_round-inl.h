// Sums of fields to elements: one rounding, to nearest even.
//
// A sum is two doubles, high + low, each exact. Their sum is rounded to f64 at once where f64 is
// wanted. For narrower elements it is rounded to odd first, which no later rounding notices
// (Boldo, Melquiond: When double rounding is odd, 2005).
//
// A quotient that is no middle of two elements is not near one, either. Let m be a middle, of at
// most 54 bits, d the divisor, below 2^26, and s the sum, an integer below 2^96 (for narrower
// elements m has 25 bits, and s 53). s and m d are multiples of a power of two that is at least
// 2^-80 of m d or 2^-96 of s (2^-51 or 2^-53). If they differ, s / d is as far from m. A quotient
// with a smaller error is on the right side.

#if defined(COHOM_EXACT_ROUND_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_EXACT_ROUND_INL_H
#undef COHOM_EXACT_ROUND_INL_H
#else
#define COHOM_EXACT_ROUND_INL_H
#endif

#include "kernels/core/body/float_bits.hpp"
#include "kernels/exact/body/exact_format.hpp"
#include "kernels/exact/body/exact_header.hpp"

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernels/exact/cpu/exact_fields-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

/// `nearest` is a number rounded to nearest, and `error` has the sign of what it lacks, or is 0:
/// the same number rounded to odd.
HWY_INLINE ExactReal rounded_to_odd(ExactReal nearest, ExactReal error) {
  const ExactD d;
  const ExactI i;
  const auto bits = hn::BitCast(d, nearest);
  const auto one = hn::Set(d, std::uint64_t{1});
  // -1 towards zero, 1 away from it.
  const auto differs = hn::BroadcastSignBit(hn::BitCast(i, hn::Xor(bits, hn::BitCast(d, error))));
  const auto step = hn::Or(hn::BitCast(d, differs), one);
  const auto even = hn::Eq(hn::And(bits, one), hn::Zero(d));
  const auto exact = hn::RebindMask(d, hn::Eq(error, hn::Zero(ExactF())));
  return hn::BitCast(ExactF(),
                     hn::Add(bits, hn::IfThenElseZero(even, hn::IfThenZeroElse(exact, step))));
}

/// A double as one of 24 significant bits, to odd.
HWY_INLINE ExactReal rounded_to_odd_float(ExactReal number) {
  const ExactD d;
  const auto bits = hn::BitCast(d, number);
  const auto below = hn::Set(d, body::low_bits(29));
  const auto rest = hn::And(bits, below);
  const auto odd = hn::Set(d, std::uint64_t{1} << 29);
  const auto kept = hn::AndNot(below, bits);
  return hn::BitCast(ExactF(), hn::IfThenElse(hn::Eq(rest, hn::Zero(d)), kept, hn::Or(kept, odd)));
}

/// How the sums of one mini-block become elements.
template <class T>
class ExactRounding {
 public:
  static constexpr bool is_double = std::is_same_v<T, double>;

  /// `contributions`: all that were added.
  ExactRounding(const body::ExactWidths& widths, const body::ExactMini& mini,
                std::size_t contributions, std::uint64_t divisor)
      : bits_(mini.magnitude + 1 + widths.sum_carries),
        divides_(divisor > 1),
        halves_(std::has_single_bit(divisor)),
        divisor_(static_cast<double>(divisor)) {
    const ExactD d;
    const auto bias = body::ExactInteger::shifted(contributions, mini.magnitude);
    bias_ = hn::Set(d, is_short() ? bias.low : bias.low & body::low_bits(exact_low_part));
    high_bias_ = hn::Set(d, bias.low >> exact_low_part | bias.high << (64 - exact_low_part));
    const int exponent = static_cast<int>(mini.low) + body::exact_unit<T> -
                         (halves_ ? std::countr_zero(divisor) : 0);
    scale_ = hn::Set(ExactF(), body::power_of_two<double>(std::max(exponent, -1000)));
    more_ = hn::Set(ExactF(), body::power_of_two<double>(std::min(exponent + 1000, 0)));
  }

  /// Whether vectors can divide. Else the reference does it.
  static bool is_possible(std::uint64_t divisor) {
    if (std::has_single_bit(divisor)) return true;
    const bool divides = HWY_NATIVE_FMA || !is_double;  // what remains of f64 takes an FMA
    return divides && divisor < std::uint64_t{1} << 26;
  }

  [[nodiscard]] bool is_short() const { return bits_ <= 62; }

  /// The elements' values; those of f32 and narrower ones lie on the same side of every middle of
  /// two elements as the exact ones do. `doubtful`: those that are rounded twice.
  HWY_INLINE ExactReal operator()(const std::uint64_t* low, const std::uint64_t* high,
                                  ExactMask& doubtful) const {
    const ExactF f;
    ExactReal error = hn::Zero(f);
    auto value = sum(low, high, error);
    if constexpr (is_double) {
      if (!halves_) value = quotient(value, error);
      value = hn::Mul(hn::Mul(value, scale_), more_);
    } else {
      if (bits_ > 52) value = rounded_to_odd(value, error);
      if (!halves_) value = hn::Div(value, hn::Set(f, divisor_));
      value = hn::Mul(value, scale_);
    }
    if (divides_ && (is_double || std::is_same_v<T, bfloat16>)) {
      // Denormals have fewer bits, and the value is no integer of the least.
      const auto least = hn::Set(f, is_double ? 0x1p-1022 : 0x1p-126);
      const auto denormal = hn::Lt(hn::Abs(value), least);
      doubtful = hn::Or(doubtful, hn::AndNot(hn::Eq(value, hn::Zero(f)), denormal));
    }
    return value;
  }

 private:
  /// A sum that lacks `error`.
  HWY_INLINE ExactReal sum(const std::uint64_t* low, const std::uint64_t* high,
                           ExactReal& error) const {
    const ExactD d;
    const ExactF f;
    if (bits_ <= 52) return to_real(hn::Sub(hn::Load(d, low), bias_));
    if (is_short()) {
      const auto whole = hn::Sub(hn::Load(d, low), bias_);
      const auto upper = hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(ExactI(), whole)));
      const auto lower = hn::And(whole, hn::Set(d, body::low_bits(32)));
      return add(hn::Mul(to_real(upper), hn::Set(f, 0x1p32)), to_real(lower), error);
    }
    const auto all = hn::Load(d, low);
    // Between -2^48 and 2^48, so that what is above decides unless it is 0.
    const auto lower = hn::Sub(hn::And(all, hn::Set(d, body::low_bits(exact_low_part))), bias_);
    const auto upper =
        hn::Sub(hn::Add(hn::Load(d, high), hn::ShiftRight<exact_low_part>(all)), high_bias_);
    return add(hn::Mul(to_real(upper), hn::Set(f, 0x1p48)), to_real(lower), error);
  }
  /// |a| >= |b|, or a is 0.
  static HWY_INLINE ExactReal add(ExactReal a, ExactReal b, ExactReal& error) {
    const auto sum = hn::Add(a, b);
    error = hn::Sub(b, hn::Sub(sum, a));
    return sum;
  }
  /// Of a sum that lacks `error`: a double and what it lacks, of which all that is rounded is less
  /// than 2^-103 of the quotient.
  HWY_INLINE ExactReal quotient(ExactReal sum, ExactReal error) const {
    const auto by = hn::Set(ExactF(), divisor_);
    const auto first = hn::Div(sum, by);
    const auto remainder = hn::NegMulAdd(first, by, sum);
    return hn::Add(first, hn::Div(hn::Add(remainder, error), by));
  }

  unsigned bits_;
  bool divides_, halves_;
  double divisor_;
  ExactV bias_, high_bias_;
  ExactReal scale_, more_;
};

template <class T>
HWY_INLINE void store_reals(ExactReal value, void* output, std::size_t index) {
  const hn::Rebind<float, ExactF> narrow;
  if constexpr (std::is_same_v<T, double>)
    Elements<double>::store(ExactF(), value, output, index);
  else if constexpr (std::is_same_v<T, float>)
    Elements<float>::store(narrow, hn::DemoteTo(narrow, value), output, index);
  else
    Elements<T>::store(narrow, hn::DemoteTo(narrow, rounded_to_odd_float(value)), output, index);
}

/// The elements of one mini-block from its sums, the reference's way.
template <class T>
void round_slowly(const body::ExactMini& mini, bool is_short, const ExactFields& fields,
                  std::size_t first, std::size_t contributions, std::uint64_t divisor,
                  void* output) {
  for (std::size_t i = first; i < first + exact_mini; ++i) {
    body::ExactInteger sum{fields.low[i], 0};
    if (!is_short) sum.add(body::ExactInteger::shifted(fields.high[i], exact_low_part));
    sum.subtract(body::ExactInteger::shifted(contributions, mini.magnitude));
    body::store_raw<T>(output, i, body::exact_quotient<T>(sum, mini.low, divisor));
  }
}

/// -0 where all contributions are.
template <class T>
void put_minus_zeros(const ExactFields& fields, std::size_t first, std::size_t contributions,
                     void* output) {
  for (std::size_t i = first; i < first + exact_mini; ++i)
    if (fields.zeros[i] == contributions)
      body::store_raw<T>(output, i, body::exact_element<T>(0, true));
}

/// The elements of one mini-block; false where some are doubtful.
template <class T>
HWY_INLINE bool round_mini(const ExactRounding<T>& rounding, const ExactFields& fields,
                           std::size_t first, void* output) {
  bool sure = true;
  for (std::size_t i = first; i < first + exact_mini; i += exact_lanes) {
    auto doubtful = hn::FirstN(ExactF(), 0);
    store_reals<T>(rounding(fields.low + i, fields.high + i, doubtful), output, i);
    sure &= hn::AllFalse(ExactF(), doubtful);
  }
  return sure;
}

/// The elements of a whole group.
template <class T>
void round_group(const body::ExactWidths& widths, const GroupShape<T>& group,
                 const ExactFields& fields, std::size_t contributions, std::uint64_t divisor,
                 void* output) {
  for (std::size_t m = 0; m < exact_minis; ++m) {
    const body::ExactMini mini = group.mini(m);
    const std::size_t first = m * exact_mini;
    if (mini.empty) {
      for (std::size_t i = first; i < first + exact_mini; ++i) body::store_raw<T>(output, i, T{});
    } else if (!ExactRounding<T>::is_possible(divisor) ||
               !round_mini<T>(ExactRounding<T>(widths, mini, contributions, divisor), fields, first,
                              output)) {
      round_slowly<T>(mini, ExactFields::are_short(widths, mini), fields, first, contributions,
                      divisor, output);
    }
    if (group.zeros[m] != 0) put_minus_zeros<T>(fields, first, contributions, output);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
