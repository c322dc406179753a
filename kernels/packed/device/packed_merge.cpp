// Sums of packed payloads, and their division by powers of two, a warp a group. As in encoding, a
// pass makes the headers and another one the planes.

#include "kernels/device_runtime/current_context.hpp"
#include "kernels/device_runtime/elements.hpp"
#include "kernels/device_runtime/intrinsics.hpp"
#include "kernels/device_runtime/launch.hpp"
#include "kernels/packed/device/packed_rows.hpp"

namespace cohom::kernels::device {
namespace {

/// To nearest, ties to even.
COHOM_HD inline std::uint32_t shifted(std::uint32_t integer, unsigned shift) {
  const auto value = static_cast<std::int32_t>(integer);
  const std::int32_t below = (std::int32_t{1} << (shift - 1)) - 1;
  return static_cast<std::uint32_t>((value + below + (value >> shift & 1)) >> shift);
}

template <bool writes_planes>
struct MergeGroups {
  static constexpr unsigned threads = group_threads;
  static constexpr Barrier barrier = Barrier::warp;
  static constexpr int phases = 2;

  struct Shared {
    GroupWidths widths[groups_of_tile];
  };
  struct Local {
    std::uint32_t integers[packed_mini];
  };

  std::size_t tiles;
  const ParsedPayload* sources;
  std::size_t count;
  unsigned shift;  ///< 0: none
  NewPayload payload;
  std::uint32_t* too_wide;

  template <int phase>
  COHOM_HD void run(At at, Shared& shared, Local& local) const {
    const std::size_t g = at.tile * groups_of_tile + at.thread / group_lanes;
    if (g >= payload.groups) return;
    const unsigned lane = at.thread % group_lanes;
    GroupWidths& widths = shared.widths[at.thread / group_lanes];
    if constexpr (phase == 0) {
      const std::uint32_t outliers = add_up(g, lane, local);
      std::uint32_t width = packed_outlier;
      if ((outliers >> lane & 1) == 0) {
        width = width_of(local.integers);
        if (!writes_planes && width > packed_max_width) atomic_or(too_wide, 1);
      }
      widths.widths[lane] = width;
    } else if constexpr (!writes_planes) {
      if (lane < packed_header) payload.headers()[g * packed_header + lane] = widths.plane(lane);
      if (lane == 0) payload.offsets[g] = widths.plane_words();
    } else {
      const GroupHeader header(payload.headers() + g * packed_header);
      write_mini(header, lane, local.integers, payload.planes() + payload.offsets[g]);
    }
  }

  /// The lane's sum, zeros where it is an outlier; returns which mini-blocks are.
  COHOM_HD std::uint32_t add_up(std::size_t g, unsigned lane, Local& local) const {
    COHOM_UNROLL
    for (std::uint32_t& integer : local.integers) integer = 0;
    std::uint32_t outliers = 0, base = 0;
    for (std::size_t s = 0; s < count; ++s) {
      const ParsedPayload source = sources[s];
      const GroupHeader header(source.headers + g * packed_header);
      std::uint32_t one[packed_mini];
      read_mini(header, lane, source.planes + source.offsets[g], one);
      COHOM_UNROLL
      for (unsigned i = 0; i < packed_mini; ++i) local.integers[i] += one[i];
      outliers |= header.outliers();
      if (source.bases != nullptr) base += source.bases[g];
    }
    const bool is_outlier = (outliers >> lane & 1) != 0;
    COHOM_UNROLL
    for (std::uint32_t& integer : local.integers)
      integer = is_outlier ? 0 : shift == 0 ? integer : shifted(integer, shift);
    if (payload.based && lane == 0) payload.bases()[g] = outliers != 0 ? 0 : base;
    return outliers;
  }
};

template <bool writes_planes>
void merge_pass(const ParsedPayload* sources, std::size_t count, unsigned shift,
                const NewPayload& payload, std::uint32_t* too_wide) {
  launch(MergeGroups<writes_planes>{.tiles = tiles_of(payload.groups, groups_of_tile),
                                    .sources = sources,
                                    .count = count,
                                    .shift = shift,
                                    .payload = payload,
                                    .too_wide = too_wide});
}

/// Words of the sum, or 0.
std::size_t write_sum(DeviceContext& context, const ParsedPayload* sources, std::size_t count,
                      unsigned shift, const NewPayload& payload) {
  auto* const too_wide = static_cast<std::uint32_t*>(context.scratch(4));
  context.runtime().fill(too_wide, 0, 4, context.stream());
  merge_pass<false>(sources, count, shift, payload, view(too_wide));
  std::uint32_t found = 0;
  context.download(&found, too_wide, 4);
  if (found != 0) return 0;
  place_planes(payload);
  merge_pass<true>(sources, count, shift, payload, nullptr);
  close_payload(payload);
  return finished_words(context, payload);
}

}  // namespace

std::size_t merge_packed(std::size_t groups, const ConstPackedPayload* payloads, std::size_t count,
                         std::uint64_t* sum) {
  DeviceContext& context = begin_call();
  expect_aligned(sum, 8, "packed: a sum");
  const ParsedPayload* sources = nullptr;
  bool based = false;
  if (!parse_payloads(context, payloads, count, groups, &sources, &based)) return 0;
  return write_sum(context, sources, count, 0, new_payload(context, view(sum), groups, based));
}

/// In place, groups would be written while others are still to be read.
std::size_t shift_packed(std::size_t groups, ConstPackedPayload payload, unsigned shift,
                         std::uint64_t* words) {
  DeviceContext& context = begin_call();
  expect_aligned(words, 8, "packed: words");
  const ParsedPayload* source = nullptr;
  bool based = false;
  if (!parse_payloads(context, &payload, 1, groups, &source, &based) || based) return 0;
  const bool in_place = words == payload.data();
  auto* const to =
      in_place ? static_cast<std::uint64_t*>(context.scratch(payload.size_bytes())) : words;
  const std::size_t left =
      write_sum(context, source, 1, shift, new_payload(context, view(to), groups, false));
  if (in_place && left != 0) context.runtime().copy_within(words, to, 8 * left, context.stream());
  return left;
}

PackedKernels packed_row() {
  return {measure_packed, encode_packed, merge_packed, shift_packed, decode_packed};
}

}  // namespace cohom::kernels::device
