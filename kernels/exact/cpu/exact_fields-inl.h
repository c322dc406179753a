// The fields of a group, added over all payloads.

#if defined(COHOM_EXACT_FIELDS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_EXACT_FIELDS_INL_H
#undef COHOM_EXACT_FIELDS_INL_H
#else
#define COHOM_EXACT_FIELDS_INL_H
#endif

#include "kernels/exact/body/exact_header.hpp"

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/exact/cpu/exact_shape-inl.h"
#include "kernels/exact/cpu/exact_streams-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

/// Of one group: low + high * 2^48 of each element. `high` where the sum of a mini-block's fields
/// has more than 62 bits, `zeros` where -0 are counted.
struct ExactFields {
  alignas(64) std::uint64_t low[exact_group];
  alignas(64) std::uint64_t high[exact_group];
  alignas(64) std::uint64_t zeros[exact_group];

  /// Whether sums of a mini-block fit `low`.
  static bool are_short(const body::ExactWidths& widths, const body::ExactMini& mini) {
    return mini.magnitude + 1 + widths.sum_carries <= 62;
  }
};

/// Writes eight sums, or adds to them.
template <bool adds>
HWY_INLINE void keep(std::uint64_t* sums, const Eight<ExactV>& x) {
  const ExactD d;
  for (std::size_t p = 0; p < exact_parts; ++p) {
    std::uint64_t* const to = sums + p * exact_lanes;
    hn::Store(adds ? hn::Add(hn::Load(d, to), x.part[p]) : x.part[p], d, to);
  }
}

/// The fields of eight elements from `i` on.
template <bool adds>
HWY_INLINE void keep_fields(StreamsReader& in, unsigned bits, bool is_short, ExactFields& fields,
                            std::size_t i) {
  const auto low_mask = hn::Set(ExactD(), body::low_bits(exact_low_part));
  if (bits <= in.word_bits()) {
    const auto x = in.get(bits);
    if (is_short) return keep<adds>(fields.low + i, x);
    keep<adds>(fields.low + i, eight([&](std::size_t p) { return hn::And(x.part[p], low_mask); }));
    keep<adds>(fields.high + i,
               eight([&](std::size_t p) { return hn::ShiftRight<exact_low_part>(x.part[p]); }));
    return;
  }
  const auto low = in.get(exact_low_part);
  const auto high = in.get(bits - exact_low_part);
  if (is_short) {
    keep<adds>(fields.low + i, eight([&](std::size_t p) {
                 return hn::Add(low.part[p], hn::ShiftLeft<exact_low_part>(high.part[p]));
               }));
    return;
  }
  keep<adds>(fields.low + i, low);
  keep<adds>(fields.high + i, high);
}

/// The fields of one payload's group, `size` words.
template <class T, bool adds>
void read_group(const body::ExactWidths& widths, const GroupShape<T>& group,
                const std::uint64_t* words, std::size_t size, ExactFields& fields) {
  StreamsReader in(words, size, widths.word_bits());
  for (std::size_t m = 0; m < exact_minis; ++m) {
    const auto bits = static_cast<unsigned>(group.bits[m]);
    const auto zeros = static_cast<unsigned>(group.zeros[m]);
    if (bits + zeros == 0) continue;
    const bool is_short = ExactFields::are_short(widths, group.mini(m));
    for (std::size_t i = m * exact_mini; i < (m + 1) * exact_mini; i += exact_streams) {
      if (bits != 0) keep_fields<adds>(in, bits, is_short, fields, i);
      if (zeros != 0) keep<adds>(fields.zeros + i, in.get(zeros));
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
