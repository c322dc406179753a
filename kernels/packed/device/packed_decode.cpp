// Values from packed groups, a warp each.
//
//   0  integers; predict=delta: their sum
//   1  values, put where lanes find elements that lie side by side
//   2  elements

#include "kernels/device_runtime/current_context.hpp"
#include "kernels/device_runtime/elements.hpp"
#include "kernels/device_runtime/launch.hpp"
#include "kernels/packed/device/packed_rows.hpp"

namespace cohom::kernels::device {
namespace {

template <class T, class Real>
struct DecodeGroups {
  using Kept = Arithmetic<T>;
  static constexpr unsigned threads = group_threads;
  static constexpr Barrier barrier = Barrier::warp;
  static constexpr int phases = 3;
  static constexpr unsigned row = packed_mini + 1;

  struct Slot {
    Kept values[packed_minis * row];
    std::uint32_t sums[packed_minis];
  };
  struct Shared {
    Slot slots[groups_of_tile];
  };
  struct Local {
    std::uint32_t integers[packed_mini];
    std::uint32_t outliers;
  };

  std::size_t tiles;
  std::size_t groups;
  std::size_t count;
  const ParsedPayload* source;
  double step;
  Divider<Kept> divided;
  std::uint32_t* outliers;
  T* output;

  template <int phase>
  COHOM_HD void run(At at, Shared& shared, Local& local) const {
    const std::size_t g = at.tile * groups_of_tile + at.thread / group_lanes;
    if (g >= groups) return;
    const unsigned lane = at.thread % group_lanes;
    Slot& slot = shared.slots[at.thread / group_lanes];
    if constexpr (phase == 0) read(g, lane, slot, local);
    if constexpr (phase == 1) restore(g, lane, slot, local);
    if constexpr (phase == 2) write(g, lane, slot, local);
  }

  COHOM_HD void read(std::size_t g, unsigned lane, Slot& slot, Local& local) const {
    const GroupHeader header(source->headers + g * packed_header);
    read_mini(header, lane, source->planes + source->offsets[g], local.integers);
    local.outliers = header.outliers();
    if (lane == 0) outliers[g] = local.outliers;
    if (source->bases == nullptr) return;
    std::uint32_t sum = 0;
    COHOM_UNROLL
    for (std::uint32_t& integer : local.integers) integer = sum += integer;
    slot.sums[lane] = sum;
  }

  COHOM_HD void restore(std::size_t g, unsigned lane, Slot& slot, Local& local) const {
    std::uint32_t before = 0;
    if (source->bases != nullptr) {
      before = source->bases[g];
      for (unsigned m = 0; m < lane; ++m) before += slot.sums[m];
    }
    COHOM_UNROLL
    for (unsigned i = 0; i < packed_mini; ++i) {
      const auto integer = static_cast<std::int32_t>(before + local.integers[i]);
      const Real sum = static_cast<Real>(integer) * static_cast<Real>(step);
      slot.values[lane * row + i] = divided(static_cast<Kept>(sum));
    }
  }

  COHOM_HD void write(std::size_t g, unsigned lane, const Slot& slot, const Local& local) const {
    const std::size_t left = count - g * packed_group;
    COHOM_UNROLL
    for (unsigned m = 0; m < packed_minis; ++m) {
      const unsigned e = m * packed_mini + lane;
      if (e < left && (local.outliers >> m & 1) == 0)
        store_element<T>(output, g * packed_group + e, slot.values[m * row + lane]);
    }
  }
};

}  // namespace

bool decode_packed(const PackedRun& run, ConstPackedPayload payload, double step, bool in_f64,
                   std::uint64_t divisor, std::uint32_t* outliers, void* output) {
  DeviceContext& context = begin_call();
  expect_aligned(output, size_of(run.type), "packed: the output");
  const std::size_t groups = packed_groups(run.count);
  const ParsedPayload* source = nullptr;
  bool based = false;
  if (!parse_payloads(context, &payload, 1, groups, &source, &based)) return false;
  auto* const found = static_cast<std::uint32_t*>(context.scratch(groups * 4));
  with_packed_types(run.type, in_f64, [&]<class T, class Real>(T, Real) {
    launch(DecodeGroups<T, Real>{.tiles = tiles_of(groups, groups_of_tile),
                                 .groups = groups,
                                 .count = run.count,
                                 .source = source,
                                 .step = step,
                                 .divided = Divider<Arithmetic<T>>(divisor),
                                 .outliers = view(found),
                                 .output = view(static_cast<T*>(output))});
  });
  context.download(outliers, found, groups * 4);
  return true;
}

}  // namespace cohom::kernels::device
