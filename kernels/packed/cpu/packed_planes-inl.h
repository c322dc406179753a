// A group of packed integers as bit planes of all its mini-blocks: plane k has bit k of element i
// of mini-block m as bit i of word m. Adding, shifting and measuring integers are a few logical
// operations a plane for as many elements as a vector has bits.

#if defined(COHOM_PACKED_PLANES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_PACKED_PLANES_INL_H
#undef COHOM_PACKED_PLANES_INL_H
#else
#define COHOM_PACKED_PLANES_INL_H
#endif

#include "kernels/packed/body/packed_group.hpp"
#include "kernels/packed/cpu/plane_vectors-inl.h"

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Vectors of a plane.
inline constexpr std::size_t plane_vectors = packed_minis / lanes32;

struct Planes {
  /// From 1 to 32. The last plane is the sign, and stands for all above.
  std::size_t count = 1;
  alignas(64) std::uint32_t words[32][packed_minis];

  [[nodiscard]] HWY_INLINE U32 load(std::size_t plane, std::size_t vector) const {
    return hn::Load(hn::ScalableTag<std::uint32_t>(), words[plane] + vector * lanes32);
  }
  HWY_INLINE void store(std::size_t plane, std::size_t vector, U32 v) {
    hn::Store(v, hn::ScalableTag<std::uint32_t>(), words[plane] + vector * lanes32);
  }
};

/// Bit m of above[k]: mini-block m has a plane k, its width being > k and it being no outlier.
struct WidthMasks {
  alignas(64) std::uint32_t above[32 + 1];
  std::size_t widest;  ///< the largest width; masks from here on are 0

  [[nodiscard]] HWY_INLINE std::size_t words() const {
    std::size_t sum = 0;
    for (std::size_t k = 0; k < widest; ++k)
      sum += static_cast<std::size_t>(__builtin_popcount(above[k]));
    return sum;
  }
};

/// absent[b][k]: all ones where bit b of k is 0.
struct AbsentBits {
  alignas(64) std::uint32_t absent[packed_header][32];
  constexpr AbsentBits() : absent() {
    for (std::uint32_t b = 0; b < packed_header; ++b)
      for (std::uint32_t k = 0; k < 32; ++k) absent[b][k] = (k >> b & 1) != 0 ? 0 : ~0u;
  }
};
inline constexpr AbsentBits absent_bits;

/// Compares all widths with all k at once, from the lowest bit up: where the bits differ, the
/// width's decides, where they do not, what the lower bits said. That is a majority vote.
HWY_INLINE WidthMasks masks_of_header(const std::uint32_t* header) {
  const hn::ScalableTag<std::uint32_t> d;
  WidthMasks masks;
  const std::uint32_t kept = ~body::outlier_minis(header);
#pragma GCC unroll 8
  for (std::size_t j = 0; j < plane_vectors; ++j) {
    U32 above = hn::Zero(d);
#pragma GCC unroll 5
    for (std::size_t b = 0; b < packed_header; ++b)
      above = majority(hn::Set(d, header[b] & kept),
                       hn::Load(d, absent_bits.absent[b] + j * lanes32), above);
    hn::Store(above, d, masks.above + j * lanes32);
  }
  masks.widest = 0;
  std::uint32_t left = kept;
  for (std::size_t b = packed_header; b-- > 0;) {
    const std::uint32_t with_bit = left & header[b];
    masks.widest |= static_cast<std::size_t>(with_bit != 0) << b;
    left = with_bit != 0 ? with_bit : left;
  }
  return masks;
}

/// The part of a mask that concerns a vector of a plane.
HWY_INLINE std::uint32_t mask_of_vector(std::uint32_t mask, std::size_t vector) {
  return mask >> (vector * lanes32) & all_lanes32;
}

/// Words of a plane that come before those of a vector.
HWY_INLINE int words_before(std::uint32_t mask, std::size_t vector) {
  return vector == 0 ? 0 : __builtin_popcount(mask & ((1u << (vector * lanes32)) - 1));
}

/// A plane of all mini-blocks from those that have it; `planes` moves behind them. Lanes of others
/// stay as they are: expanded over the plane below, they repeat their mini-block's sign.
HWY_INLINE void expand_plane(std::uint32_t mask, const std::uint32_t*& planes,
                             U32 (&plane)[plane_vectors]) {
  const std::uint32_t* const first = planes;
  planes += __builtin_popcount(mask);
  if (mask == ~0u) {  // as the lowest ones often are
#pragma GCC unroll 8
    for (std::size_t j = 0; j < plane_vectors; ++j)
      plane[j] = hn::LoadU(hn::ScalableTag<std::uint32_t>(), first + j * lanes32);
    return;
  }
#pragma GCC unroll 8
  for (std::size_t j = 0; j < plane_vectors; ++j)
    plane[j] = expand_words(first + words_before(mask, j), mask_of_vector(mask, j), plane[j]);
}

/// Reads a group's planes; returns where the next ones begin.
HWY_INLINE const std::uint32_t* read_planes(const std::uint32_t* from, const WidthMasks& masks,
                                            Planes& planes) {
  U32 plane[plane_vectors];
#pragma GCC unroll 8
  for (auto& v : plane) v = hn::Zero(hn::ScalableTag<std::uint32_t>());
  planes.count = std::max<std::size_t>(masks.widest, 1);
  for (std::size_t k = 0; k < planes.count; ++k) {
    expand_plane(masks.above[k], from, plane);
#pragma GCC unroll 8
    for (std::size_t j = 0; j < plane_vectors; ++j) planes.store(k, j, plane[j]);
  }
  return from;
}

/// Bit m of `minis` is set where mini-block m's word of plane k differs from that of `other`.
HWY_INLINE void add_minis_that_differ(const Planes& planes, std::size_t k,
                                      const U32 (&other)[plane_vectors], std::uint32_t& minis) {
#if HWY_ARCH_ARM
  // Adding up lanes takes as long as several comparisons, so it is done once.
  const std::uint32_t first[4] = {1, 2, 4, 8};
  uint32x4_t bit = vld1q_u32(first), differ = vdupq_n_u32(0);
#pragma GCC unroll 8
  for (std::size_t j = 0; j < plane_vectors; ++j) {
    differ = vorrq_u32(differ, vbicq_u32(bit, vceqq_u32(planes.load(k, j).raw, other[j].raw)));
    bit = vshlq_n_u32(bit, lanes32);
  }
  minis |= vaddvq_u32(differ);
#else
#pragma GCC unroll 8
  for (std::size_t j = 0; j < plane_vectors; ++j)
    minis |= lanes_that_differ(planes.load(k, j), other[j]) << (j * lanes32);
#endif
}

/// The smallest widths that hold the integers; those not in `kept` get no planes.
HWY_INLINE WidthMasks masks_of_planes(const Planes& planes, std::uint32_t kept) {
  const hn::ScalableTag<std::uint32_t> d;
  WidthMasks masks;
#pragma GCC unroll 8
  for (std::size_t j = 0; j < plane_vectors; ++j)
    hn::Store(hn::Zero(d), d, masks.above + j * lanes32);
  U32 sign[plane_vectors];
  std::uint32_t nonzero = 0;
#pragma GCC unroll 8
  for (std::size_t j = 0; j < plane_vectors; ++j) {
    sign[j] = planes.load(planes.count - 1, j);
    nonzero |= lanes_that_differ(sign[j], hn::Zero(d)) << (j * lanes32);
  }
  // A plane is needed when it, or one from the plane below it on, is no copy of the sign.
  std::uint32_t needed = 0;
  masks.widest = 0;
  for (std::size_t k = planes.count; k-- > 0;) {
    add_minis_that_differ(planes, k, sign, needed);
    masks.above[k + 1] = needed & kept;
    masks.widest += masks.above[k + 1] != 0 ? 1 : 0;
  }
  masks.above[0] = (needed | nonzero) & kept;
  masks.widest += masks.above[0] != 0 ? 1 : 0;
  return masks;
}

/// Bit b of a width changes at every 2^b-th plane, so it is the parity of the planes there, of
/// which there are less than `planes`.
template <std::size_t planes>
HWY_INLINE void write_header_of(const WidthMasks& masks, std::uint32_t outliers,
                                std::uint32_t* header) {
#pragma GCC unroll 5
  for (std::size_t b = 0; b < packed_header; ++b) {
    std::uint32_t parity = 0;
#pragma GCC unroll 32
    for (std::size_t k = (std::size_t{1} << b) - 1; k < planes; k += std::size_t{1} << b)
      parity ^= masks.above[k];
    header[b] = parity | outliers;
  }
}
HWY_INLINE void write_header(const WidthMasks& masks, std::uint32_t outliers,
                             std::uint32_t* header) {
  if (masks.widest <= 8) return write_header_of<8>(masks, outliers, header);
  write_header_of<packed_max_width>(masks, outliers, header);
}

HWY_INLINE std::uint32_t* compress_planes(const Planes& planes, const WidthMasks& masks,
                                          std::uint32_t* out) {
  for (std::size_t k = 0; k < masks.widest; ++k) {
    const std::uint32_t mask = masks.above[k];
    if (mask == ~0u) {
#pragma GCC unroll 8
      for (std::size_t j = 0; j < plane_vectors; ++j)
        hn::StoreU(planes.load(k, j), hn::ScalableTag<std::uint32_t>(), out + j * lanes32);
      out += packed_minis;
      continue;
    }
#pragma GCC unroll 8
    for (std::size_t j = 0; j < plane_vectors; ++j)
      compress_words(planes.load(k, j), mask_of_vector(mask, j), out + words_before(mask, j));
    out += __builtin_popcount(mask);
  }
  return out;
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
