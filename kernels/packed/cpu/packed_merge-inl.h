// Adding and shifting packed payloads, as planes: a bit-sliced adder.
//
// An owner's sum stays in the first cache as planes while the contributions of its group are added
// one by one, so each is read once and the sum is written once.

#if defined(COHOM_PACKED_MERGE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_PACKED_MERGE_INL_H
#undef COHOM_PACKED_MERGE_INL_H
#else
#define COHOM_PACKED_MERGE_INL_H
#endif

#include "kernels/packed/cpu/packed_payload-inl.h"
#include "kernels/packed/cpu/packed_planes-inl.h"

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

/// Adds a group's planes of `sources` payloads, as they are read, to the sum's.
template <std::size_t sources>
class PlaneAdder {
 public:
  HWY_INLINE PlaneAdder(const WidthMasks* masks, const std::uint32_t** planes, Planes& sum)
      : masks_(masks), planes_(planes), sum_(sum) {
    const hn::ScalableTag<std::uint32_t> d;
#pragma GCC unroll 8
    for (std::size_t j = 0; j < plane_vectors; ++j) {
      kept_[j] = hn::Zero(d);
#pragma GCC unroll 2
      for (std::size_t s = 0; s < sources; ++s) carry_[s][j] = read_[s][j] = hn::Zero(d);
    }
  }

  /// Leaves `count` planes in the sum, which had `before`; `widest`: of all sources.
  HWY_INLINE void add(std::size_t before, std::size_t widest, std::size_t count) {
    const std::size_t read = std::min(count, widest);
    const std::size_t both = std::min(read, before);
    add_planes<true, true>(0, both);
    add_planes<true, false>(both, read);
    add_planes<false, true>(both, std::min(count, before));
    add_planes<false, false>(std::max(read, before), count);
    sum_.count = count;
  }

 private:
  template <bool reads, bool loads>
  HWY_INLINE void add_planes(std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) add_plane<reads, loads>(k);
  }

  /// One that has no such plane any more repeats its last one, the sign.
  template <bool reads, bool loads>
  HWY_INLINE void add_plane(std::size_t k) {
    if (reads) {
#pragma GCC unroll 2
      for (std::size_t s = 0; s < sources; ++s)
        expand_plane(masks_[s].above[k], planes_[s], read_[s]);
    }
#pragma GCC unroll 8
    for (std::size_t j = 0; j < plane_vectors; ++j) {
      if (loads) kept_[j] = sum_.load(k, j);
      U32 plane = kept_[j];
#pragma GCC unroll 2
      for (std::size_t s = 0; s < sources; ++s) {
        const U32 added = hn::Xor3(plane, read_[s][j], carry_[s][j]);
        carry_[s][j] = majority(plane, read_[s][j], carry_[s][j]);
        plane = added;
      }
      sum_.store(k, j, plane);
    }
  }

  const WidthMasks* masks_;
  const std::uint32_t** planes_;
  Planes& sum_;
  U32 carry_[sources][plane_vectors], read_[sources][plane_vectors], kept_[plane_vectors];
};

/// Planes of integers from -bound to bound - 1. More than 32 are not kept: sums wrap.
inline std::size_t planes_for(std::uint64_t bound) {
  return std::min<std::size_t>(32, 1 + std::size_t(std::bit_width(bound - 1)));
}

/// Adds group g of all sources, two by two: that halves what the sum is read and written.
class GroupAdder {
 public:
  HWY_INLINE GroupAdder(std::size_t g, PackedReader* sources, Planes& sum)
      : g_(g), sources_(sources), sum_(sum) {}

  HWY_INLINE void add_all(std::size_t count) {
    std::size_t s = 0;
    for (; s + 2 <= count; s += 2) add<2>(s);
    if (s < count) add<1>(s);
  }

 private:
  template <std::size_t sources>
  HWY_INLINE void add(std::size_t first) {
    WidthMasks masks[sources];
    PlanesOfGroup copies[sources];
    const std::uint32_t *from[sources], *at[sources];
    std::size_t widest = 1;
#pragma GCC unroll 2
    for (std::size_t s = 0; s < sources; ++s) {
      masks[s] = masks_of_header(sources_[first + s].header(g_));
      widest = std::max(widest, masks[s].widest);
      bound_ += std::uint64_t{1} << (std::max<std::size_t>(masks[s].widest, 1) - 1);
      from[s] = at[s] = sources_[first + s].planes(masks[s], copies[s]);
    }
    PlaneAdder<sources>(masks, at, sum_)
        .add(first == 0 ? 0 : sum_.count, widest, planes_for(bound_));
#pragma GCC unroll 2
    for (std::size_t s = 0; s < sources; ++s) sources_[first + s].skip(at[s] - from[s]);
  }

  std::size_t g_;
  PackedReader* sources_;
  Planes& sum_;
  std::uint64_t bound_ = 0;
};

std::size_t merge(std::size_t groups, const ConstPackedPayload* payloads, std::size_t count,
                  std::uint64_t* words) {
  thread_local std::vector<PackedReader> sources;  // no call allocates
  sources.resize(count);
  for (std::size_t s = 0; s < count; ++s)
    if (!sources[s].parse(payloads[s], groups) || sources[s].based() != sources[0].based())
      return 0;
  const bool based = sources[0].based();
  PackedOutput output(words, groups, based);
  PackedReader* const source = sources.data();
  for (std::size_t g = 0; g < groups; ++g) {
    Planes sum;
    GroupAdder(g, source, sum).add_all(count);
    std::uint32_t outliers = 0, base = 0;
    for (std::size_t s = 0; s < count; ++s) {
      outliers |= body::outlier_minis(source[s].header(g));
      base += source[s].base(g);
    }
    if (based) output.parts.bases[g] = outliers != 0 ? 0 : base;
    const WidthMasks masks = masks_of_planes(sum, ~outliers);
    if (masks.above[packed_max_width] != 0) return 0;
    write_group(sum, masks, outliers, g, output.parts, output.end);
  }
  return body::close_packed(words, groups, based, output.parts.planes);
}

/// planes := planes / 2^by, to nearest, ties to even: what is shifted out rounds up when its top
/// bit is set, and a lower one or the last bit that stays.
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

std::size_t shift(std::size_t groups, ConstPackedPayload payload, unsigned by,
                  std::uint64_t* words) {
  PackedReader source;
  if (!source.parse(payload, groups) || source.based()) return 0;
  PackedOutput output(words, groups, false);
  const bool in_place = payload.data() == words;
  for (std::size_t g = 0; g < groups; ++g) {
    const WidthMasks masks = masks_of_header(source.header(g));
    const std::uint32_t outliers = body::outlier_minis(source.header(g));
    Planes planes;
    source.read(masks, planes);
    shift_planes(by, planes);
    // No width grows, so what is written never passes what was read.
    write_group(planes, masks_of_planes(planes, ~outliers), outliers, g, output.parts,
                in_place ? source.position() : output.end);
  }
  return body::close_packed(words, groups, false, output.parts.planes);
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
