// Names of whole vectors.

#if defined(COHOM_FULL_VECTORS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_FULL_VECTORS_INL_H
#undef COHOM_FULL_VECTORS_INL_H
#else
#define COHOM_FULL_VECTORS_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Full = hn::Vec<hn::ScalableTag<T>>;
using I32 = Full<std::int32_t>;
using U32 = Full<std::uint32_t>;
using I16 = Full<std::int16_t>;
using U16 = Full<std::uint16_t>;
using U8 = Full<std::uint8_t>;
using U64 = Full<std::uint64_t>;

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
