#pragma once
// What the packed kernels share: the layout of a payload, the quantiser of a call, and the row of
// functions. The bits are specified in docs/wire-format.md ("packed").

#include "kernels/core/dither.hpp"

#include <cohom/element_type.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace cohom::kernels {

/// A group is 1024 elements in 32 mini-blocks of 32, each with integers of its own width.
inline constexpr std::size_t packed_group = 1024;
inline constexpr std::size_t packed_mini = 32;
inline constexpr std::size_t packed_minis = packed_group / packed_mini;
/// A group's header: the widths of its mini-blocks as 5 bit planes, one u32 each.
inline constexpr std::size_t packed_header = 5;
inline constexpr std::uint32_t packed_max_width = 30;
/// Width of a mini-block whose values travel elsewhere: absorbing under merge, no planes.
inline constexpr std::uint32_t packed_outlier = 31;
/// No sum of all ranks' integers reaches this, so 30 bits always suffice.
inline constexpr std::uint32_t packed_range = std::uint32_t{1} << 29;

constexpr std::size_t packed_groups(std::size_t elements) {
  return elements / packed_group + (elements % packed_group != 0);
}

/// Most words of a payload of so many elements; `based`: with a base a group (predict=delta).
constexpr std::size_t packed_capacity(std::size_t elements, bool based) {
  const std::size_t group = packed_header + (based ? 1 : 0) + packed_minis * packed_max_width;
  return 1 + (packed_groups(elements) * group + 1) / 2;
}

/// How values become integers in one call. Plain data, equal on all ranks but for `dither_offsets`.
struct PackedQuantizer {
  double step = 1;
  /// Arithmetic in f64 whatever the element type: step / 2 bounds the error, and steps far below
  /// the normal range of f32 do no harm.
  bool in_f64 = false;
  /// Mini-blocks whose largest magnitude is below 0.7 steps become zeros.
  bool drops_small = false;
  bool differences = false;  ///< predict=delta
  double limit = 0;          ///< magnitudes above so many steps are outliers
  Dither dither = Dither::correlated;
  std::uint64_t dither_key = 0;  ///< depends on the rank for Dither::independent
  std::uint64_t permutation_key = 0;
  /// correlated: this rank's offset in 1/256 for each of the permutations one can draw.
  std::span<const std::uint8_t> dither_offsets = {};
};

/// A run of whole groups; only the last may be ragged.
struct PackedRun {
  ElementType type = ElementType::f32;
  std::size_t first = 0;  ///< index of its first element in the whole vector, a multiple of 1024
  std::size_t count = 0;  ///< elements
};

/// Words of one payload.
using ConstPackedPayload = std::span<const std::uint64_t>;

/// Pointers to elements and feedback point at the run's own first one. `feedback` (f32, or f64 for
/// f64 vectors; one value an element) may be null: no error feedback.
struct PackedKernels {
  /// bins[largest magnitude of the mini-block] += 1 for every finite mini-block of the run; see
  /// PackedBins. With feedback: v = input + feedback is stored to feedback first, and v is
  /// measured.
  void (*measure)(const PackedRun& run, const void* input, void* feedback, std::uint32_t* bins);
  /// Writes this rank's payload, at most packed_capacity() words; returns the words written. With
  /// feedback: reads v from feedback, leaves v - decode(own), or v where a mini-block is an
  /// outlier.
  std::size_t (*encode)(const PackedQuantizer& quantizer, const PackedRun& run, const void* input,
                        void* feedback, std::uint64_t* words);
  /// sum := the exact sum of the payloads' integers; returns its words, or 0 when a payload is not
  /// one of `groups` groups, or the sum needs more than 30 bits. `sum` overlaps no payload.
  std::size_t (*merge)(std::size_t groups, const ConstPackedPayload* payloads, std::size_t count,
                       std::uint64_t* sum);
  /// Divides all integers by 2^shift (shift > 0), to nearest, ties to even; `words` may be the
  /// payload's own. Returns the words left, or 0 as merge does, and for a payload with bases.
  std::size_t (*shift)(std::size_t groups, ConstPackedPayload payload, unsigned shift,
                       std::uint64_t* words);
  /// output := integers * step, divided by `divisor` in the element's arithmetic when it is > 1.
  /// Elements of outlier mini-blocks are left alone, and outliers[g] gets a bit for each in group
  /// g. False as merge does.
  bool (*decode)(const PackedRun& run, ConstPackedPayload payload, double step, bool in_f64,
                 std::uint64_t divisor, std::uint32_t* outliers, void* output);
};

/// Whether a device has all that codecs call.
constexpr bool complete(const PackedKernels& row) {
  return row.measure != nullptr && row.encode != nullptr && row.merge != nullptr &&
         row.shift != nullptr && row.decode != nullptr;
}

}  // namespace cohom::kernels
