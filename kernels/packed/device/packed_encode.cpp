// Quantising values into packed groups, a warp each. Where a group's planes begin depends on all
// groups before, so there are two passes, which quantise alike: the first one writes headers, the
// other planes.
//
//   0  values, side by side in memory, are put where lanes find their mini-blocks
//   1  integers; with feedback what is left
//   2  predict=delta: differences; widths
//   3  header, or planes; what is left goes to memory, side by side

#include "kernels/device_runtime/current_context.hpp"
#include "kernels/device_runtime/elements.hpp"
#include "kernels/device_runtime/launch.hpp"
#include "kernels/packed/body/packed_quantize.hpp"
#include "kernels/packed/device/packed_lanes.hpp"
#include "kernels/packed/device/packed_rows.hpp"

namespace cohom::kernels::device {
namespace {

/// A PackedQuantizer with its offsets in device memory.
struct Quantiser {
  double step;
  double limit;
  bool drops_small, differences;
  Dither dither;
  std::uint64_t dither_key, permutation_key;
  std::uint32_t units;
  const std::uint8_t* offsets;

  [[nodiscard]] COHOM_HD std::uint32_t offset(std::uint64_t number) const {
    if (dither != Dither::correlated) return 0;
    return offsets[body::permutation_number(body::frame(permutation_key, number), units)];
  }
};

template <class T, class Real, bool writes_planes>
struct EncodeGroups {
  using Kept = Arithmetic<T>;  ///< what feedback is
  static constexpr unsigned threads = group_threads;
  static constexpr Barrier barrier = Barrier::warp;
  static constexpr int phases = 4;
  static constexpr unsigned row = packed_mini + 1;  ///< so that rows begin in different banks

  struct Slot {
    Kept values[packed_minis * row];
    std::uint32_t last[packed_minis];  ///< integers of the mini-blocks
    std::uint32_t outliers[packed_minis];
    GroupWidths widths;
  };
  struct Shared {
    Slot slots[groups_of_tile];
  };
  struct Local {
    std::uint32_t integers[packed_mini];
  };

  std::size_t tiles;
  Quantiser quantiser;
  std::uint64_t first;  ///< element of the vector
  std::size_t count;
  const T* input;
  Kept* feedback;
  NewPayload payload;

  template <int phase>
  COHOM_HD void run(At at, Shared& shared, Local& local) const {
    const std::size_t g = at.tile * groups_of_tile + at.thread / group_lanes;
    if (g >= payload.groups) return;
    const unsigned lane = at.thread % group_lanes;
    Slot& slot = shared.slots[at.thread / group_lanes];
    if constexpr (phase == 0) read(g, lane, slot);
    if constexpr (phase == 1) quantise(g, lane, slot, local);
    if constexpr (phase == 2) {
      if (quantiser.differences) take_differences(g, lane, slot, local);
      slot.widths.widths[lane] = is_outlier(slot, lane) ? packed_outlier : width_of(local.integers);
    }
    if constexpr (phase == 3) write(g, lane, slot, local);
  }

  [[nodiscard]] COHOM_HD unsigned elements_of(std::size_t g) const {
    const std::size_t left = count - g * packed_group;
    return static_cast<unsigned>(left < packed_group ? left : packed_group);
  }

  COHOM_HD void read(std::size_t g, unsigned lane, Slot& slot) const {
    const unsigned elements = elements_of(g);
    COHOM_UNROLL
    for (unsigned m = 0; m < packed_minis; ++m) {
      const unsigned e = m * packed_mini + lane;
      const std::size_t i = g * packed_group + e;
      Kept value = 0;
      if (e < elements) value = feedback != nullptr ? feedback[i] : load_element<T>(input, i);
      slot.values[m * row + lane] = value;
    }
  }

  COHOM_HD void quantise(std::size_t g, unsigned lane, Slot& slot, Local& local) const {
    using Format = body::FloatFormat<Real>;
    const Real step = static_cast<Real>(quantiser.step);
    const Real inverse = Real{1} / step;
    Real scaled[packed_mini];
    typename Format::Bits largest_bits = 0;
    COHOM_UNROLL
    for (unsigned i = 0; i < packed_mini; ++i) {
      scaled[i] = static_cast<Real>(slot.values[lane * row + i]) * inverse;
      const auto magnitude = body::magnitude_bits(scaled[i]);
      largest_bits = magnitude > largest_bits ? magnitude : largest_bits;
    }
    const Real largest = body::from_bits<Real>(largest_bits);
    const unsigned elements = elements_of(g);
    const unsigned mine = lane * packed_mini;
    const bool there = mine < elements;
    const bool is_outlier = there && !(largest <= static_cast<Real>(quantiser.limit));
    const bool quiet = !there || is_outlier || (quantiser.drops_small && largest < Real(0.7));
    slot.outliers[lane] = is_outlier ? 1 : 0;
    COHOM_UNROLL
    for (std::uint32_t& integer : local.integers) integer = 0;
    if (!quiet) find_integers(first + g * packed_group + mine, elements - mine, scaled, local);
    slot.last[lane] = local.integers[packed_mini - 1];
    if constexpr (writes_planes)
      if (feedback != nullptr && !is_outlier) subtract(step, lane, slot, local);
  }

  /// What is left of the values, in their place.
  COHOM_HD void subtract(Real step, unsigned lane, Slot& slot, const Local& local) const {
    COHOM_UNROLL
    for (unsigned i = 0; i < packed_mini; ++i) {
      Kept& value = slot.values[lane * row + i];
      value =
          static_cast<Kept>(static_cast<Real>(value) -
                            static_cast<Real>(static_cast<std::int32_t>(local.integers[i])) * step);
    }
  }

  /// Of the mini-block that starts at element `element` of the vector, with `elements` at least
  /// from there on.
  COHOM_HD void find_integers(std::uint64_t element, unsigned elements,
                              const Real (&scaled)[packed_mini], Local& local) const {
    if (quantiser.dither == Dither::nearest) {
      COHOM_UNROLL
      for (unsigned i = 0; i < packed_mini; ++i)
        if (i < elements)
          local.integers[i] = static_cast<std::uint32_t>(body::nearest_integer(scaled[i]));
      return;
    }
    const std::uint32_t frame = body::frame(quantiser.dither_key, element / 256);
    const std::uint32_t offset = quantiser.offset(element / 256);
    const auto y = static_cast<std::uint32_t>(element % 256);  // two rows of 16 begin here
    COHOM_UNROLL
    for (unsigned column = 0; column < 16; ++column) {
      const std::uint32_t drawn = body::draw(frame, y / 64 * 16 + column) >> (y / 16 % 4 * 8);
      COHOM_UNROLL
      for (unsigned half = 0; half < 2; ++half) {
        const unsigned i = half * 16 + column;
        const std::uint32_t dither = ((drawn >> (8 * half)) + offset) & 0xff;
        if (i < elements)
          local.integers[i] = static_cast<std::uint32_t>(body::dithered_integer(scaled[i], dither));
      }
    }
  }

  /// predict=delta: a chain with a gap says nothing, so whole groups are outliers.
  [[nodiscard]] COHOM_HD bool is_outlier(const Slot& slot, unsigned lane) const {
    if (!quantiser.differences) return slot.outliers[lane] != 0;
    bool any = false;
    for (const std::uint32_t outliers : slot.outliers) any |= outliers != 0;
    return any;
  }

  COHOM_HD void take_differences(std::size_t g, unsigned lane, const Slot& slot,
                                 Local& local) const {
    if (is_outlier(slot, lane)) {
      COHOM_UNROLL
      for (std::uint32_t& integer : local.integers) integer = 0;
      if (lane == 0) payload.bases()[g] = 0;
      return;
    }
    if (lane == 0) payload.bases()[g] = local.integers[0];
    const unsigned elements = elements_of(g);
    std::uint32_t before = lane == 0 ? local.integers[0] : slot.last[lane - 1];
    COHOM_UNROLL
    for (unsigned i = 0; i < packed_mini; ++i) {
      const std::uint32_t integer = local.integers[i];
      if (lane * packed_mini + i < elements) local.integers[i] = integer - before;
      before = integer;
    }
  }

  COHOM_HD void write(std::size_t g, unsigned lane, Slot& slot, Local& local) const {
    if constexpr (!writes_planes) {
      if (lane < packed_header)
        payload.headers()[g * packed_header + lane] = slot.widths.plane(lane);
      if (lane == 0) payload.offsets[g] = slot.widths.plane_words();
    } else {
      const GroupHeader header(payload.headers() + g * packed_header);
      write_mini(header, lane, local.integers, payload.planes() + payload.offsets[g]);
      if (feedback == nullptr) return;
      const unsigned elements = elements_of(g);
      COHOM_UNROLL
      for (unsigned m = 0; m < packed_minis; ++m) {
        const unsigned e = m * packed_mini + lane;
        if (e < elements) feedback[g * packed_group + e] = slot.values[m * row + lane];
      }
    }
  }
};

template <class T, class Real, bool writes_planes>
void encode_pass(const Quantiser& quantiser, const PackedRun& run, const void* input,
                 void* feedback, const NewPayload& payload) {
  launch(
      EncodeGroups<T, Real, writes_planes>{.tiles = tiles_of(payload.groups, groups_of_tile),
                                           .quantiser = quantiser,
                                           .first = run.first,
                                           .count = run.count,
                                           .input = view(static_cast<const T*>(input)),
                                           .feedback = view(static_cast<Arithmetic<T>*>(feedback)),
                                           .payload = payload});
}

Quantiser upload(DeviceContext& context, const PackedQuantizer& from) {
  return {.step = from.step,
          .limit = from.limit,
          .drops_small = from.drops_small,
          .differences = from.differences,
          .dither = from.dither,
          .dither_key = from.dither_key,
          .permutation_key = from.permutation_key,
          .units = static_cast<std::uint32_t>(from.dither_offsets.size()),
          .offsets = static_cast<const std::uint8_t*>(
              view(context.upload(from.dither_offsets.data(), from.dither_offsets.size())))};
}

}  // namespace

std::size_t encode_packed(const PackedQuantizer& quantizer, const PackedRun& run, const void* input,
                          void* feedback, std::uint64_t* words) {
  DeviceContext& context = begin_call();
  expect_aligned(input, size_of(run.type), "packed: elements");
  expect_aligned(feedback, feedback_bytes(run.type), "packed: feedback");
  expect_aligned(words, 8, "packed: words");
  const Quantiser quantiser = upload(context, quantizer);
  const NewPayload payload =
      new_payload(context, view(words), packed_groups(run.count), quantizer.differences);
  with_packed_types(run.type, quantizer.in_f64, [&]<class T, class Real>(T, Real) {
    encode_pass<T, Real, false>(quantiser, run, input, feedback, payload);
    place_planes(payload);
    encode_pass<T, Real, true>(quantiser, run, input, feedback, payload);
  });
  close_payload(payload);
  return finished_words(context, payload);
}

}  // namespace cohom::kernels::device
