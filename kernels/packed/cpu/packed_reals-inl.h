// Vectors of the type packed computes in, which may be wider than the elements are, and the
// integers beside them.

#if defined(COHOM_PACKED_REALS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_PACKED_REALS_INL_H
#undef COHOM_PACKED_REALS_INL_H
#else
#define COHOM_PACKED_REALS_INL_H
#endif

#include "kernels/core/cpu/element_vectors-inl.h"
#include "kernels/packed/cpu/plane_vectors-inl.h"

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Elements of type T as vectors of Real, which may be wider than they are.
template <class T, class Real>
HWY_INLINE Full<Real> load_as(const void* array, std::size_t index) {
  const hn::ScalableTag<Real> d;
  if constexpr (sizeof(Real) > sizeof(typename Elements<T>::Real)) {
    return hn::PromoteTo(d, Elements<T>::load(hn::Rebind<float, decltype(d)>(), array, index));
  } else {
    return Elements<T>::load(d, array, index);
  }
}

template <class Real>
using RealLanes = hn::ScalableTag<Real>;
/// Integers of a vector of Real.
template <class Real>
using IntegerLanes = hn::Rebind<std::int32_t, RealLanes<Real>>;

template <class Real>
HWY_INLINE auto rounded_to_nearest(Full<Real> v) {
  if constexpr (sizeof(Real) == 4)
    return nearest(v);
  else
    return hn::DemoteTo(IntegerLanes<Real>(), hn::Round(v));
}
template <class Real>
HWY_INLINE auto rounded_down(Full<Real> v) {
  if constexpr (sizeof(Real) == 4)
    return floor_integers(v);
  else
    return hn::DemoteTo(IntegerLanes<Real>(), hn::Floor(v));
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
