#pragma once
// A group of packed integers in a warp: every lane has a mini-block, 32 integers in registers.
// Planes are integers transposed; which lanes have a plane, and where it lies, follows from the
// header alone.

#include "kernels/core/body/bits.hpp"
#include "kernels/core/hd.hpp"
#include "kernels/device_runtime/device_context.hpp"
#include "kernels/packed/body/packed_group.hpp"
#include "kernels/packed/packed.hpp"

#include <cstddef>
#include <cstdint>

namespace cohom::kernels::device {

inline constexpr unsigned group_lanes = 32;
inline constexpr unsigned group_threads = 128;  ///< of a block: four groups
inline constexpr std::size_t groups_of_tile = group_threads / group_lanes;

/// Bit c of word r becomes bit r of word c.
template <unsigned step = 16>
COHOM_HD inline void transpose(std::uint32_t (&words)[packed_mini]) {
  constexpr std::uint32_t mask = step == 16  ? 0x0000ffff
                                 : step == 8 ? 0x00ff00ff
                                 : step == 4 ? 0x0f0f0f0f
                                 : step == 2 ? 0x33333333
                                             : 0x55555555;
  COHOM_UNROLL
  for (unsigned r = 0; r < packed_mini; ++r) {
    if ((r & step) != 0) continue;
    const std::uint32_t swapped = (words[r] >> step ^ words[r + step]) & mask;
    words[r + step] ^= swapped;
    words[r] ^= swapped << step;
  }
  if constexpr (step > 1) transpose<step / 2>(words);
}

/// A group's header in registers.
struct GroupHeader {
  std::uint32_t planes[packed_header];

  GroupHeader() = default;
  COHOM_HD explicit GroupHeader(const std::uint32_t* from) {
    COHOM_UNROLL
    for (unsigned b = 0; b < packed_header; ++b) planes[b] = from[b];
  }
  [[nodiscard]] COHOM_HD std::uint32_t outliers() const {
    return planes[0] & planes[1] & planes[2] & planes[3] & planes[4];
  }
  [[nodiscard]] COHOM_HD std::uint32_t width(unsigned lane) const {
    std::uint32_t width = 0;
    COHOM_UNROLL
    for (unsigned b = 0; b < packed_header; ++b) width |= (planes[b] >> lane & 1) << b;
    return width;
  }
  /// The lanes that have plane k: those wider than k, no outliers.
  [[nodiscard]] COHOM_HD std::uint32_t lanes_with(unsigned k) const {
    std::uint32_t wider = 0, equal = ~std::uint32_t{0};
    COHOM_UNROLL
    for (unsigned i = 0; i < packed_header; ++i) {
      const unsigned b = packed_header - 1 - i;
      if ((k >> b & 1) == 0) wider |= equal & planes[b];
      equal &= (k >> b & 1) != 0 ? planes[b] : ~planes[b];
    }
    return wider & ~outliers();
  }
};

/// integers := those of the lane's mini-block; zeros for an outlier. `planes` are the group's.
COHOM_HD inline void read_mini(const GroupHeader& header, unsigned lane,
                               const std::uint32_t* planes,
                               std::uint32_t (&integers)[packed_mini]) {
  const std::uint32_t own = std::uint32_t{1} << lane;
  std::uint32_t last = 0;
  std::size_t before = 0;
  COHOM_UNROLL
  for (unsigned k = 0; k < packed_max_width; ++k) {
    const std::uint32_t lanes = header.lanes_with(k);
    // Behind the last plane, which is the sign, all are like it.
    if ((lanes & own) != 0) last = planes[before + body::count_ones(lanes & (own - 1))];
    integers[k] = last;
    before += body::count_ones(lanes);
  }
  COHOM_UNROLL
  for (unsigned k = packed_max_width; k < packed_mini; ++k) integers[k] = last;
  transpose(integers);
}

/// Uses the integers up.
COHOM_HD inline void write_mini(const GroupHeader& header, unsigned lane,
                                std::uint32_t (&integers)[packed_mini], std::uint32_t* planes) {
  const std::uint32_t own = std::uint32_t{1} << lane;
  std::size_t before = 0;
  transpose(integers);
  COHOM_UNROLL
  for (unsigned k = 0; k < packed_max_width; ++k) {
    const std::uint32_t lanes = header.lanes_with(k);
    if ((lanes & own) != 0) planes[before + body::count_ones(lanes & (own - 1))] = integers[k];
    before += body::count_ones(lanes);
  }
}

COHOM_HD inline std::uint32_t width_of(const std::uint32_t (&integers)[packed_mini]) {
  std::int32_t low = 0, high = 0;
  COHOM_UNROLL
  for (const std::uint32_t integer : integers) {
    const auto value = static_cast<std::int32_t>(integer);
    low = value < low ? value : low;
    high = value > high ? value : high;
  }
  return body::width_of_range(low, high);
}

/// What the lanes of a warp tell each other of the group that they make.
struct GroupWidths {
  std::uint32_t widths[packed_minis];

  /// Bit plane b of the header.
  [[nodiscard]] COHOM_HD std::uint32_t plane(unsigned b) const {
    std::uint32_t plane = 0;
    for (unsigned m = 0; m < packed_minis; ++m) plane |= (widths[m] >> b & 1) << m;
    return plane;
  }
  [[nodiscard]] COHOM_HD GroupHeader header() const {
    GroupHeader header;
    COHOM_UNROLL
    for (unsigned b = 0; b < packed_header; ++b) header.planes[b] = plane(b);
    return header;
  }
  /// u32 words of the planes.
  [[nodiscard]] COHOM_HD std::uint32_t plane_words() const {
    std::uint32_t words = 0;
    for (const std::uint32_t width : widths) words += width == packed_outlier ? 0 : width;
    return words;
  }
};

/// A payload under construction, with room for all that its groups can have.
struct NewPayload {
  std::uint64_t* words;
  std::size_t groups;
  bool based;
  std::uint64_t* offsets;  ///< by group: u32 words of planes, then those before; behind them of all
  const void* all;         ///< the last one's address in device memory

  [[nodiscard]] COHOM_HD std::uint32_t* headers() const {
    return reinterpret_cast<std::uint32_t*>(words + 1);
  }
  [[nodiscard]] COHOM_HD std::uint32_t* bases() const { return headers() + groups * packed_header; }
  [[nodiscard]] COHOM_HD std::uint32_t* planes() const { return bases() + (based ? groups : 0); }
};

/// Payloads that are read, open: groups, sizes and headers fit each other.
struct ParsedPayload {
  const std::uint32_t* headers;
  const std::uint32_t* bases;  ///< null: none
  const std::uint32_t* planes;
  const std::uint64_t* offsets;  ///< by group: u32 words of planes before
};

/// Takes scratch for the offsets. `words` as kernels see it.
NewPayload new_payload(DeviceContext& context, std::uint64_t* words, std::size_t groups,
                       bool based);

/// Sums the offsets up, which were counts: between the pass that writes headers and that of the
/// planes.
void place_planes(const NewPayload& payload);

/// Writes what a payload begins and ends with.
void close_payload(const NewPayload& payload);
/// Words of a payload that is finished. Waits for the stream.
std::size_t finished_words(DeviceContext& context, const NewPayload& payload);

/// Opens payloads, whose words are in device memory; `views` gets them as an array in device
/// memory. False when one is not of `groups` groups. Waits for the stream.
bool parse_payloads(DeviceContext& context, const ConstPackedPayload* payloads, std::size_t count,
                    std::size_t groups, const ParsedPayload** views, bool* based);

}  // namespace cohom::kernels::device
