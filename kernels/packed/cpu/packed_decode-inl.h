// Decoding runs: planes to bytes in the first cache, from there to elements; far into a large
// vector, elements that need no conversion go around the caches.

#if defined(COHOM_PACKED_DECODE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_PACKED_DECODE_INL_H
#undef COHOM_PACKED_DECODE_INL_H
#else
#define COHOM_PACKED_DECODE_INL_H
#endif

#include "kernels/core/cpu/cached_output.hpp"
#include "kernels/core/cpu/element_vectors-inl.h"
#include "kernels/packed/cpu/packed_from_planes-inl.h"
#include "kernels/packed/cpu/packed_payload-inl.h"
#include "kernels/packed/cpu/packed_planes-inl.h"
#include "kernels/packed/cpu/packed_reals-inl.h"

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Makes elements of T from integers, in arithmetic of Real.
template <class T, class Real, bool streamed>
class PackedWriter {
 public:
  static constexpr RealLanes<Real> d{};
  static constexpr IntegerLanes<Real> di{};

  HWY_INLINE PackedWriter(double step, std::uint64_t divisor)
      : step_(hn::Set(d, static_cast<Real>(step))),
        divisor_(hn::Set(d, static_cast<Real>(divisor))),
        divides_(divisor > 1) {}

  HWY_INLINE void write(hn::Vec<IntegerLanes<Real>> integers, void* output, std::size_t i) const {
    Full<Real> v = hn::Mul(real(integers), step_);
    if constexpr (sizeof(Real) > sizeof(typename Elements<T>::Real)) {
      auto w = hn::DemoteTo(d32_, v);
      if (divides_) w = hn::Div(w, hn::DemoteTo(d32_, divisor_));
      Elements<T>::store(d32_, w, output, i);
      return;
    }
    if (divides_) v = hn::Div(v, divisor_);
    if constexpr (streamed)
      hn::Stream(v, d, element_at<Real>(output, i));
    else if constexpr (sizeof(Real) == sizeof(typename Elements<T>::Real))
      Elements<T>::store(d, v, output, i);
  }

 private:
  static constexpr hn::Rebind<float, RealLanes<Real>> d32_{};

  static HWY_INLINE Full<Real> real(hn::Vec<IntegerLanes<Real>> integers) {
    if constexpr (sizeof(Real) == 4)
      return hn::ConvertTo(d, integers);
    else
      return hn::PromoteTo(d, integers);
  }

  Full<Real> step_, divisor_;
  bool divides_;
};

/// integers[i] += all before it, and base.
HWY_INLINE void sum_differences(std::uint32_t base, std::int32_t* integers) {
  const hn::CappedTag<std::uint32_t, 4> d;
  auto* const values = reinterpret_cast<std::uint32_t*>(integers);
  auto before = hn::Set(d, base);
  for (std::size_t i = 0; i < packed_group; i += 4) {
    auto v = hn::Load(d, values + i);
    v = hn::Add(v, hn::ShiftLeftLanes<1>(d, v));
    v = hn::Add(v, hn::ShiftLeftLanes<2>(d, v));
    v = hn::Add(v, before);
    hn::Store(v, d, values + i);
    before = hn::Broadcast<3>(v);
  }
}

/// Writes `minis` mini-blocks of a group but the outliers; load(q, m, h, i) gives integers from
/// element 16 h + i of mini-block 4 q + m on.
template <class Writer, class Load>
HWY_INLINE void write_minis(const Writer& writer, std::size_t minis, std::uint32_t outliers,
                            void* output, Load load) {
  constexpr std::size_t lanes = hn::MaxLanes(Writer::d);
  const auto write = [&](std::size_t q, std::size_t m) HWY_ATTR {
#pragma GCC unroll 2
    for (std::size_t h = 0; h < 2; ++h)
#pragma GCC unroll 8
      for (std::size_t i = 0; i < 16; i += lanes)
        writer.write(load(q, m, h, i), output, (4 * q + m) * packed_mini + 16 * h + i);
  };
  std::size_t q = 0;
  if (outliers == 0)
    for (; 4 * q + 4 <= minis; ++q)
#pragma GCC unroll 4
      for (std::size_t m = 0; m < 4; ++m) write(q, m);
  for (std::size_t mini = 4 * q; mini < minis; ++mini)
    if ((outliers >> mini & 1) == 0) write(mini / 4, mini % 4);
}

/// The group's integers one after another, for sums along them.
HWY_NOINLINE inline void spread_integers(const Planes& planes, std::int32_t* integers) {
  const hn::ScalableTag<std::int32_t> d;
  with_integers(planes, [&](const auto& group) HWY_ATTR {
    for (std::size_t i = 0; i < packed_group; i += lanes32)
      hn::Store(group.load(d, i / 128, i / 32 % 4, i / 16 % 2, i % 16), d, integers + i);
  });
}

/// Decodes the next group to whole mini-blocks of output.
template <class Writer>
HWY_INLINE void decode_group(const Writer& writer, PackedReader& source, std::size_t g,
                             std::size_t minis, std::uint32_t outliers, void* output) {
  const WidthMasks masks = masks_of_header(source.header(g));
  Planes planes;
  source.read(masks, planes);
  if (source.based()) {
    alignas(64) std::int32_t integers[packed_group];
    spread_integers(planes, integers);
    sum_differences(source.base(g), integers);
    write_minis(writer, minis, outliers, output,
                [&](std::size_t q, std::size_t m, std::size_t h, std::size_t i) HWY_ATTR {
                  return hn::Load(Writer::di, integers + (4 * q + m) * packed_mini + 16 * h + i);
                });
    return;
  }
  with_integers(planes, [&](const auto& group) HWY_ATTR {
    write_minis(writer, minis, outliers, output,
                [&](std::size_t q, std::size_t m, std::size_t h, std::size_t i)
                    HWY_ATTR { return group.load(Writer::di, q, m, h, i); });
  });
}

template <class T, class Real, bool streamed>
void decode_groups(const PackedRun& run, PackedReader& source, double step, std::uint64_t divisor,
                   std::uint32_t* outliers, void* output) {
  const PackedWriter<T, Real, streamed> writer(step, divisor);
  const std::size_t groups = packed_groups(run.count);
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t first = g * packed_group;
    const std::size_t count = std::min(packed_group, run.count - first);
    void* const out = element_at<T>(output, first);
    outliers[g] = body::outlier_minis(source.header(g));
    alignas(64) std::byte padded[packed_group * sizeof(T)];  // holds outliers as they were
    const bool ragged = count % packed_mini != 0;
    if (ragged) std::memcpy(padded, out, count * sizeof(T));
    // One call, and one only: it is inlined, and compilers need half a minute for it.
    decode_group(writer, source, g, (count + packed_mini - 1) / packed_mini, outliers[g],
                 ragged ? padded : out);
    if (ragged) std::memcpy(out, padded, count * sizeof(T));
  }
  // Streamed lines are not ordered with what follows, such as telling another thread.
  if (streamed) hwy::FlushStream();
}

template <class T, class Real>
bool decode_run(const PackedRun& run, ConstPackedPayload payload, double step,
                std::uint64_t divisor, std::uint32_t* outliers, void* output) {
  PackedReader source;
  if (!source.parse(payload, packed_groups(run.count))) return false;
  if constexpr (sizeof(T) == sizeof(Real)) {
    const bool aligned = reinterpret_cast<std::uintptr_t>(output) % HWY_MAX_BYTES == 0;
    if (aligned && run.first * sizeof(T) >= cached_output_bytes) {
      decode_groups<T, Real, true>(run, source, step, divisor, outliers, output);
      return true;
    }
  }
  decode_groups<T, Real, false>(run, source, step, divisor, outliers, output);
  return true;
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
