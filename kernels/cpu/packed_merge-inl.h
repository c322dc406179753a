// Adding and shifting packed payloads, as planes: a bit-sliced adder.
//
// An owner's sum stays in the first cache as planes while the contributions of its group are added one
// by one, so each is read once and the sum is written once.

#if defined(COHOM_PACKED_MERGE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_PACKED_MERGE_INL_H
#undef COHOM_PACKED_MERGE_INL_H
#else
#define COHOM_PACKED_MERGE_INL_H
#endif

#include "kernels/cpu/packed_payload-inl.h"
#include "kernels/cpu/packed_planes-inl.h"

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Adds a group's planes as they are read to the sum's.
class PlaneAdder {
 public:
  HWY_INLINE PlaneAdder(const WidthMasks& masks, const std::uint32_t* planes, Planes& sum)
      : masks_(masks), planes_(planes), sum_(sum) {
    const hn::ScalableTag<std::uint32_t> d;
#pragma GCC unroll 8
    for (std::size_t j = 0; j < plane_vectors; ++j) carry_[j] = read_[j] = kept_[j] = hn::Zero(d);
  }

  /// Leaves `count` planes in the sum; returns where the planes end that were read.
  HWY_INLINE const std::uint32_t* add(std::size_t count) {
    const std::size_t read = std::min(count, std::max<std::size_t>(masks_.widest, 1));
    const std::size_t both = std::min(read, sum_.count);
    add_planes<true, true>(0, both);
    add_planes<true, false>(both, read);
    add_planes<false, true>(both, std::min(count, sum_.count));
    add_planes<false, false>(std::max(read, sum_.count), count);
    sum_.count = count;
    return planes_;
  }

 private:
  template <bool reads, bool loads>
  HWY_INLINE void add_planes(std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) add_plane<reads, loads>(k);
  }

  /// One that has no such plane any more repeats its last one, the sign.
  template <bool reads, bool loads>
  HWY_INLINE void add_plane(std::size_t k) {
    if (reads) expand_plane(masks_.above[k], planes_, read_);
#pragma GCC unroll 8
    for (std::size_t j = 0; j < plane_vectors; ++j) {
      if (loads) kept_[j] = sum_.load(k, j);
      sum_.store(k, j, hn::Xor3(kept_[j], read_[j], carry_[j]));
      carry_[j] = majority(kept_[j], read_[j], carry_[j]);
    }
  }

  const WidthMasks& masks_;
  const std::uint32_t* planes_;
  Planes& sum_;
  U32 carry_[plane_vectors], read_[plane_vectors], kept_[plane_vectors];
};

/// Planes of integers from -bound to bound - 1. More than 32 are not kept: sums wrap.
inline std::size_t planes_for(std::uint64_t bound) {
  return std::min<std::size_t>(32, 1 + std::size_t(std::bit_width(bound - 1)));
}

/// Adds group g of all sources.
HWY_INLINE void add_groups(std::size_t g, PackedReader* sources, std::size_t count, Planes& sum) {
  std::uint64_t bound = 0;
  for (std::size_t s = 0; s < count; ++s) {
    const WidthMasks masks = masks_of_header(sources[s].header(g));
    bound += std::uint64_t{1} << (std::max<std::size_t>(masks.widest, 1) - 1);
    sources[s].next(masks, [&](const std::uint32_t* planes) HWY_ATTR {
      return s == 0 ? read_planes(planes, masks, sum)
                    : PlaneAdder(masks, planes, sum).add(planes_for(bound));
    });
  }
}

std::size_t merge(std::size_t groups, const PackedWords* payloads, std::size_t count,
                  std::uint64_t* words) {
  thread_local std::vector<PackedReader> sources;  // no call allocates
  sources.resize(count);
  for (std::size_t s = 0; s < count; ++s)
    if (!sources[s].open(payloads[s], groups) || sources[s].based() != sources[0].based()) return 0;
  const bool based = sources[0].based();
  PackedRoom room(words, groups, based);
  PackedReader* const source = sources.data();
  for (std::size_t g = 0; g < groups; ++g) {
    Planes sum;
    add_groups(g, source, count, sum);
    std::uint32_t escaped = 0, base = 0;
    for (std::size_t s = 0; s < count; ++s) {
      escaped |= body::escaped_minis(source[s].header(g));
      base += source[s].base(g);
    }
    if (based) room.parts.bases[g] = escaped != 0 ? 0 : base;
    const WidthMasks masks = masks_of_planes(sum, ~escaped);
    if (masks.above[packed_widest] != 0) return 0;
    write_group(sum, masks, escaped, g, room.parts, room.end);
  }
  return body::close_packed(words, groups, based, room.parts.planes);
}

/// planes := planes / 2^by, to nearest, ties to even: what is shifted out rounds up when its top bit
/// is set, and a lower one or the last bit that stays.
HWY_INLINE void shift_planes(std::size_t by, Planes& planes) {
  const std::size_t sign = planes.count - 1;
  // Rounding may need a plane more than shifting leaves.
  const std::size_t count = planes.count > by ? planes.count - by + 1 : 1;
#pragma GCC unroll 8
  for (std::size_t j = 0; j < plane_vectors; ++j) {
    U32 sticky = planes.load(std::min(by, sign), j);
    for (std::size_t k = 0; k + 1 < by; ++k)
      sticky = hn::Or(sticky, planes.load(std::min(k, sign), j));
    U32 carry = hn::And(planes.load(std::min(by - 1, sign), j), sticky);
    for (std::size_t k = 0; k < count; ++k) {
      const U32 plane = planes.load(std::min(k + by, sign), j);
      planes.store(k, j, hn::Xor(plane, carry));
      carry = hn::And(plane, carry);
    }
  }
  planes.count = count;
}

std::size_t shift(std::size_t groups, PackedWords payload, unsigned by, std::uint64_t* words) {
  PackedReader source;
  if (!source.open(payload, groups) || source.based()) return 0;
  PackedRoom room(words, groups, false);
  const bool in_place = payload.data() == words;
  for (std::size_t g = 0; g < groups; ++g) {
    const WidthMasks masks = masks_of_header(source.header(g));
    const std::uint32_t escaped = body::escaped_minis(source.header(g));
    Planes planes;
    source.next(masks,
                [&](const std::uint32_t* at) HWY_ATTR { return read_planes(at, masks, planes); });
    shift_planes(by, planes);
    // No width grows, so what is written never passes what was read.
    write_group(planes, masks_of_planes(planes, ~escaped), escaped, g, room.parts,
                in_place ? source.position() : room.end);
  }
  return body::close_packed(words, groups, false, room.parts.planes);
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
