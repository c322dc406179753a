// The highest and the lowest bit of every mini-block.
//
// A number less its lowest bit, taken from the number, is that bit alone: the exponent of it is the
// bit's position.

#if defined(COHOM_EXACT_MEASURE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_EXACT_MEASURE_INL_H
#undef COHOM_EXACT_MEASURE_INL_H
#else
#define COHOM_EXACT_MEASURE_INL_H
#endif

#include "kernels/core/body/float_bits.hpp"
#include "kernels/exact/body/exact_format.hpp"
#include "kernels/exact/body/exact_header.hpp"

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/core/cpu/element_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Of the mini-blocks of one group, in the type of arithmetic: bits of the largest magnitude, and
/// of the least lowest bit (`none` where there is no number but 0).
template <class Real>
struct ExactExtremes {
  using Bits = typename body::FloatFormat<Real>::Bits;
  static constexpr Bits none = body::FloatFormat<Real>::magnitude_mask;
  alignas(64) Bits largest[exact_minis];
  alignas(64) Bits lowest[exact_minis];
};

/// Returns whether one of the elements is -0.
template <class T>
HWY_INLINE bool measure_mini(const void* input, std::size_t m,
                             ExactExtremes<typename Elements<T>::Real>& extremes) {
  using Real = typename Elements<T>::Real;
  using Format = body::FloatFormat<Real>;
  using Bits = typename Format::Bits;
  const hn::CappedTag<Real, exact_mini> f;
  const hn::RebindToUnsigned<decltype(f)> d;
  const hn::RebindToSigned<decltype(f)> i;
  const auto one = hn::Set(d, Bits{1});
  const auto magnitude = hn::Set(d, Format::magnitude_mask);
  const auto fraction = hn::Set(d, static_cast<Bits>((Bits{1} << Format::mantissa_bits) - 1));
  const auto minus_zero = hn::Set(d, static_cast<Bits>(~Format::magnitude_mask));
  auto largest = hn::Zero(i);
  auto lowest = hn::BitCast(i, magnitude);
  auto zeros = hn::Zero(d);
  for (std::size_t e = m * exact_mini; e < (m + 1) * exact_mini; e += hn::Lanes(f)) {
    const auto bits = hn::BitCast(d, Elements<T>::load(f, input, e));
    zeros = hn::Or(zeros, hn::VecFromMask(d, hn::Eq(bits, minus_zero)));
    const auto a = hn::And(bits, magnitude);
    largest = hn::Max(largest, hn::BitCast(i, a));
    const auto rest = hn::And(a, hn::Sub(a, one));
    const auto bit = hn::BitCast(d, hn::Sub(hn::BitCast(f, a), hn::BitCast(f, rest)));
    // A power of two is its own lowest bit.
    const auto found = hn::IfThenElse(hn::Eq(hn::And(a, fraction), hn::Zero(d)), a, bit);
    const auto is_zero = hn::Eq(a, hn::Zero(d));
    const auto is_number = hn::Lt(hn::BitCast(i, a), hn::BitCast(i, hn::Set(d, Format::infinity)));
    const auto counted = hn::AndNot(hn::RebindMask(i, is_zero), is_number);
    lowest =
        hn::Min(lowest, hn::IfThenElse(counted, hn::BitCast(i, found), hn::BitCast(i, magnitude)));
  }
  extremes.largest[m] = static_cast<Bits>(hn::GetLane(hn::MaxOfLanes(i, largest)));
  extremes.lowest[m] = static_cast<Bits>(hn::GetLane(hn::MinOfLanes(i, lowest)));
  return !hn::AllFalse(d, hn::MaskFromVec(zeros));
}

/// Codes of element types with 8 bits, of bits of f32.
template <class T>
struct SmallCodes {
  /// An f32 exponent field is so much more than the code of its highest bit.
  static constexpr int high = std::is_same_v<T, float16> ? 112 : 0;
  /// And, of the lowest bit, so much less than this.
  static constexpr int low =
      body::exact_positions<T> + body::exact_unit<T> - body::exact_low_offset<T> + 127;
};

/// The code words of one group.
template <class T>
void put_codes(const ExactExtremes<float>& extremes, std::uint64_t* header) {
  using Codes = SmallCodes<T>;
  const hn::CappedTag<std::int32_t, exact_minis> i;
  const hn::RebindToFloat<decltype(i)> f;
  const hn::Rebind<std::uint8_t, decltype(i)> bytes;
  const auto one = hn::Set(i, 1);
  const auto exponent_of = [&](auto bits) { return hn::ShiftRight<23>(bits); };
  auto* const high = reinterpret_cast<std::uint8_t*>(header);
  auto* const low = high + exact_minis;
  for (std::size_t m = 0; m < exact_minis; m += hn::Lanes(i)) {
    const auto largest = hn::Load(i, reinterpret_cast<const std::int32_t*>(extremes.largest) + m);
    const auto lowest = hn::Load(i, reinterpret_cast<const std::int32_t*>(extremes.lowest) + m);
    const auto exponent = exponent_of(largest);
    auto top = hn::Max(hn::Sub(exponent, hn::Set(i, Codes::high)), one);
    top = hn::IfThenElse(hn::Eq(exponent, hn::Set(i, 255)), exponent, top);
    top = hn::IfThenElse(hn::Eq(largest, hn::Zero(i)), hn::Zero(i), top);
    const auto of_normal = exponent_of(lowest);
    // A denormal's bits are a power of two, whose exponent its value as a number has.
    const auto of_denormal =
        hn::Sub(exponent_of(hn::BitCast(i, hn::ConvertTo(f, lowest))), hn::Set(i, 127 + 22));
    const auto position = hn::IfThenElse(hn::Eq(of_normal, hn::Zero(i)), of_denormal, of_normal);
    auto bottom = hn::Max(hn::Sub(hn::Set(i, Codes::low), position), one);
    bottom = hn::IfThenElse(
        hn::Eq(lowest, hn::Set(i, static_cast<std::int32_t>(ExactExtremes<float>::none))),
        hn::Zero(i), bottom);
    hn::StoreU(hn::DemoteTo(bytes, top), bytes, high + m);
    hn::StoreU(hn::DemoteTo(bytes, bottom), bytes, low + m);
  }
}

/// Those of f64.
template <class T>
void put_codes(const ExactExtremes<double>& extremes, std::uint64_t* header) {
  using Extremes = ExactExtremes<double>;
  std::uint16_t codes[2 * exact_minis];
  std::uint16_t* const high = codes;
  std::uint16_t* const low = codes + exact_minis;
  // 1 + the position of the highest bit.
  const auto position_of = [](std::uint64_t bits) {
    const auto exponent = static_cast<unsigned>(bits >> 52);
    return exponent != 0 ? exponent + 52 : static_cast<unsigned>(std::bit_width(bits));
  };
  for (std::size_t m = 0; m < exact_minis; ++m) {
    const std::uint64_t largest = extremes.largest[m], lowest = extremes.lowest[m];
    const bool finite = largest < body::FloatFormat<double>::infinity;
    high[m] =
        static_cast<std::uint16_t>(finite ? position_of(largest) : body::exact_not_finite<double>);
    low[m] = static_cast<std::uint16_t>(lowest == Extremes::none
                                            ? 0
                                            : static_cast<unsigned>(body::exact_positions<double>) +
                                                  1 - position_of(lowest));
  }
  std::memcpy(header, codes, sizeof codes);
}

/// The header of a whole group.
template <class T>
void measure_group(const void* input, std::uint64_t* header) {
  using Header = body::ExactHeader<T>;
  ExactExtremes<typename Elements<T>::Real> extremes;
  std::uint64_t lacks = 0;
  constexpr unsigned bits = 8 * sizeof(body::ExactCode<T>);
  for (std::size_t m = 0; m < exact_minis; m += Header::minis_a_lack) {
    bool any = false;
    for (std::size_t n = m; n < m + Header::minis_a_lack; ++n)
      any |= measure_mini<T>(input, n, extremes);
    lacks |= std::uint64_t{any ? 0u : 1u} << m / Header::minis_a_lack * bits;
  }
  put_codes<T>(extremes, header);
  header[2 * exact_code_words(element_type_v<T>, exact_minis)] = lacks;
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
