// Elements of the user's vector as Highway vectors of the type they are computed in: f32, or f64
// for f64. Rounds as kernels/core/body/float16.hpp does: to nearest even, denormals kept, one NaN.
//
// Highway 1.0.3's own conversions differ: its bfloat16 truncates, and where there is no F16C its
// float16 does too.

#if defined(COHOM_ELEMENT_VECTORS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_ELEMENT_VECTORS_INL_H
#undef COHOM_ELEMENT_VECTORS_INL_H
#else
#define COHOM_ELEMENT_VECTORS_INL_H
#endif

#include "kernels/core/body/element.hpp"

#include <cohom/element_type.hpp>

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using body::element_at;

/// Asks for the memory that a pass over an array will come to: lines soon needed into the first
/// cache, later ones into the second, which has more requests in flight. To be called between
/// additions and multiplications rather than between loads: both wait for the same buffers.
template <class T>
HWY_INLINE void prefetch_row(const void* array, std::size_t index) {
  const char* row = reinterpret_cast<const char*>(element_at<T>(array, index));
  for (std::size_t line = 0; line < 16 * sizeof(T); line += 64) {
    __builtin_prefetch(row + line + 1024, 0, 3);
    __builtin_prefetch(row + line + 8192, 0, 2);
  }
}

template <class D>
HWY_INLINE hn::Vec<D> canonical_nans(D d, hn::Vec<D> v) {
  using Bits = hn::RebindToUnsigned<D>;
  const auto quiet = sizeof(hn::TFromD<D>) == 4 ? 0x7fc00000u : 0x7ff8000000000000u;
  const auto nan = hn::BitCast(d, hn::Set(Bits(), static_cast<hn::TFromD<Bits>>(quiet)));
  return hn::IfThenElse(hn::IsNaN(v), nan, v);
}

/// How elements of type T are loaded into vectors of D and stored from them. store() rounds, and
/// makes NaNs canonical where it has to round; store_canonical() always does.
template <class T>
struct Elements {  // f32 and f64: as they are
  using Real = T;

  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const void* array, std::size_t index) {
    return hn::LoadU(d, element_at<T>(array, index));
  }
  template <class D>
  static HWY_INLINE void store(D d, hn::Vec<D> v, void* array, std::size_t index) {
    hn::StoreU(v, d, element_at<T>(array, index));
  }
  template <class D>
  static HWY_INLINE void store_canonical(D d, hn::Vec<D> v, void* array, std::size_t index) {
    store(d, canonical_nans(d, v), array, index);
  }
  /// What a stored value reads back as.
  template <class D>
  static HWY_INLINE hn::Vec<D> rounded(D, hn::Vec<D> v) {
    return v;
  }
};

template <>
struct Elements<bfloat16> {
  using Real = float;

  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const void* array, std::size_t index) {
    const hn::RebindToUnsigned<D> d32;
    const hn::Rebind<std::uint16_t, D> d16;
    const auto bits = hn::LoadU(d16, element_at<std::uint16_t>(array, index));
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(d32, bits)));
  }
  /// The 16 bits of each rounded value in the upper half of its lane, zeros below.
  template <class D>
  static HWY_INLINE hn::Vec<D> rounded(D d, hn::Vec<D> v) {
    const hn::RebindToUnsigned<D> d32;
    const auto bits = hn::BitCast(d32, canonical_nans(d, v));
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d32, 1u));
    // A canonical NaN has zeros below its upper half, so the carry never reaches it.
    const auto carried = hn::Add(hn::Add(bits, hn::Set(d32, 0x7fffu)), odd);
    return hn::BitCast(d, hn::And(carried, hn::Set(d32, 0xffff0000u)));
  }
  template <class D>
  static HWY_INLINE void store(D d, hn::Vec<D> v, void* array, std::size_t index) {
    const hn::RebindToUnsigned<D> d32;
    const hn::Rebind<std::uint16_t, D> d16;
    const auto upper = hn::ShiftRight<16>(hn::BitCast(d32, rounded(d, v)));
    const auto bits = hn::DemoteTo(d16, hn::BitCast(hn::RebindToSigned<D>(), upper));
    hn::StoreU(bits, d16, element_at<std::uint16_t>(array, index));
  }
  template <class D>
  static HWY_INLINE void store_canonical(D d, hn::Vec<D> v, void* array, std::size_t index) {
    store(d, v, array, index);
  }
};

template <>
struct Elements<float16> {
  using Real = float;

  template <class D>
  static HWY_INLINE hn::Vec<D> load(D d, const void* array, std::size_t index) {
    const hn::Rebind<std::uint16_t, D> d16;
    return expand(d, hn::LoadU(d16, element_at<std::uint16_t>(array, index)));
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> rounded(D d, hn::Vec<D> v) {
    return expand(d, round(d, v));
  }
  template <class D>
  static HWY_INLINE void store(D d, hn::Vec<D> v, void* array, std::size_t index) {
    const hn::Rebind<std::uint16_t, D> d16;
    hn::StoreU(round(d, v), d16, element_at<std::uint16_t>(array, index));
  }
  template <class D>
  static HWY_INLINE void store_canonical(D d, hn::Vec<D> v, void* array, std::size_t index) {
    store(d, v, array, index);
  }

 private:
  template <class D>
  using Half = hn::Vec<hn::Rebind<std::uint16_t, D>>;

#if HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3
  // No F16C: the integer arithmetic of kernels/core/body/float16.hpp, all cases computed and
  // selected.
  template <class D>
  static HWY_INLINE hn::Vec<D> expand(D d, Half<D> half) {
    const hn::RebindToSigned<D> di;
    const auto bits = hn::PromoteTo(di, half);
    const auto magnitude = hn::And(bits, hn::Set(di, 0x7fff));
    const auto sign = hn::ShiftLeft<16>(hn::Sub(bits, magnitude));
    const auto rebias = hn::Set(di, 112 << 23);
    const auto normal = hn::Add(hn::ShiftLeft<13>(magnitude), rebias);
    const auto infinite_or_nan = hn::Add(normal, rebias);
    const auto denormal =
        hn::BitCast(di, hn::Mul(hn::ConvertTo(d, magnitude), hn::Set(d, 0x1p-24f)));
    auto value = hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, 0x0400)), denormal, normal);
    value = hn::IfThenElse(hn::Gt(magnitude, hn::Set(di, 0x7bff)), infinite_or_nan, value);
    return hn::BitCast(d, hn::Or(value, sign));
  }
  template <class D>
  static HWY_INLINE Half<D> round(D d, hn::Vec<D> v) {
    const hn::RebindToSigned<D> di;
    const auto bits = hn::BitCast(di, canonical_nans(d, v));
    const auto magnitude = hn::And(bits, hn::Set(di, 0x7fffffff));
    const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(di, 0x8000));
    const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(di, 1));
    const auto carried = hn::Add(hn::Add(magnitude, hn::Set(di, 0xfff)), odd);
    const auto normal = hn::Sub(hn::ShiftRight<13>(carried), hn::Set(di, 112 << 10));
    const auto half = hn::Set(d, 0.5f);
    const auto denormal =
        hn::Sub(hn::BitCast(di, hn::Add(hn::BitCast(d, magnitude), half)), hn::BitCast(di, half));
    auto value = hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, 0x38800000)), denormal, normal);
    value = hn::IfThenElse(hn::Gt(magnitude, hn::Set(di, 0x477fefff)), hn::Set(di, 0x7c00), value);
    value = hn::IfThenElse(hn::Gt(magnitude, hn::Set(di, 0x7f800000)), hn::Set(di, 0x7e00), value);
    return hn::DemoteTo(hn::Rebind<std::uint16_t, D>(), hn::Or(value, sign));
  }
#else
  template <class D>
  static HWY_INLINE hn::Vec<D> expand(D d, Half<D> half) {
    return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), half));
  }
  template <class D>
  static HWY_INLINE Half<D> round(D d, hn::Vec<D> v) {
    const auto half = hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), canonical_nans(d, v));
    return hn::BitCast(hn::Rebind<std::uint16_t, D>(), half);
  }
#endif
};

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
