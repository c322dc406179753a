// Eight 64-bit lanes, one a bit stream, in as many vectors as a target needs; integers as doubles
// and back.

#if defined(COHOM_EXACT_VECTORS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_EXACT_VECTORS_INL_H
#undef COHOM_EXACT_VECTORS_INL_H
#else
#define COHOM_EXACT_VECTORS_INL_H
#endif

#include "kernels/exact/exact.hpp"

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "kernels/core/cpu/element_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using ExactD = hn::CappedTag<std::uint64_t, exact_streams>;
using ExactI = hn::RebindToSigned<ExactD>;
using ExactF = hn::RebindToFloat<ExactD>;
using ExactV = hn::Vec<ExactD>;
using ExactReal = hn::Vec<ExactF>;
using ExactMask = hn::Mask<ExactF>;
inline constexpr std::size_t exact_lanes = hn::MaxLanes(ExactD());
inline constexpr std::size_t exact_parts = exact_streams / exact_lanes;

/// Eight lanes.
template <class V>
struct Eight {
  V part[exact_parts];
  HWY_INLINE Eight() {}  // written out, so that it is compiled for the target, too
};

/// result.part[p] := operation(p)
template <class Operation>
HWY_INLINE auto eight(Operation operation) {
  Eight<decltype(operation(std::size_t{}))> result;
  for (std::size_t p = 0; p < exact_parts; ++p) result.part[p] = operation(p);
  return result;
}

/// 2^52 + 2^51: the sum of it and a whole number has the number in its lower bits.
inline constexpr double exact_magic = 6755399441055744.0;
inline constexpr std::uint64_t exact_magic_bits = 0x4338000000000000u;

/// A whole number of at most 51 bits.
HWY_INLINE ExactV to_integer(ExactReal whole) {
  const ExactD d;
  const auto sum = hn::Add(whole, hn::Set(ExactF(), exact_magic));
  return hn::Sub(hn::BitCast(d, sum), hn::Set(d, exact_magic_bits));
}
HWY_INLINE ExactReal to_real(ExactV integer) {
  const ExactF f;
  const auto bits = hn::Add(integer, hn::Set(ExactD(), exact_magic_bits));
  return hn::Sub(hn::BitCast(f, bits), hn::Set(f, exact_magic));
}

/// Elements of one part of eight, as doubles.
template <class T>
HWY_INLINE ExactReal load_reals(const void* elements, std::size_t index) {
  const ExactF f;
  if constexpr (std::is_same_v<T, double>)
    return Elements<double>::load(f, elements, index);
  else
    return hn::PromoteTo(f, Elements<T>::load(hn::Rebind<float, ExactF>(), elements, index));
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
