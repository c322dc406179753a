#pragma once
// One group of packed integers: widths, header and bit planes (docs/wire-format.md, "packed").

#include "kernels/core/body/bits.hpp"
#include "kernels/core/hd.hpp"
#include "kernels/packed/packed.hpp"

#include <cstddef>
#include <cstdint>

namespace cohom::kernels::body {

/// Bits of the smallest two's complement that holds both ends; 0 when both are 0.
COHOM_HD inline std::uint32_t width_of_range(std::int32_t low, std::int32_t high) {
  if (low == 0 && high == 0) return 0;
  // A negative x needs as many bits as ~x, and each a sign.
  const std::uint32_t negative = low < 0 ? ~static_cast<std::uint32_t>(low) : 0;
  const std::uint32_t positive = high > 0 ? static_cast<std::uint32_t>(high) : 0;
  return 1 + bit_width(negative | positive);
}

COHOM_HD inline std::uint32_t width_of_mini(const std::int32_t* values) {
  std::int32_t low = 0, high = 0;
  for (std::size_t i = 0; i < packed_mini; ++i) {
    low = values[i] < low ? values[i] : low;
    high = values[i] > high ? values[i] : high;
  }
  return width_of_range(low, high);
}

/// Bit m of header[b] is bit b of widths[m].
COHOM_HD inline void write_header(const std::uint32_t* widths, std::uint32_t* header) {
  for (std::size_t b = 0; b < packed_header; ++b) {
    header[b] = 0;
    for (std::size_t m = 0; m < packed_minis; ++m) header[b] |= (widths[m] >> b & 1) << m;
  }
}

COHOM_HD inline void read_header(const std::uint32_t* header, std::uint32_t* widths) {
  for (std::size_t m = 0; m < packed_minis; ++m) {
    widths[m] = 0;
    for (std::size_t b = 0; b < packed_header; ++b) widths[m] |= (header[b] >> m & 1) << b;
  }
}

/// Bit m: mini-block m is an outlier.
COHOM_HD inline std::uint32_t outlier_minis(const std::uint32_t* header) {
  return header[0] & header[1] & header[2] & header[3] & header[4];
}

/// u32 words of a group's planes: the sum of the widths that are no outliers.
COHOM_HD inline std::uint32_t plane_words(const std::uint32_t* header) {
  const std::uint32_t kept = ~outlier_minis(header);
  std::uint32_t words = 0;
  for (std::size_t b = 0; b < packed_header; ++b) words += count_ones(header[b] & kept) << b;
  return words;
}

/// Writes the planes of 1024 integers; returns the u32 words written. Mini-blocks of width
/// packed_outlier have none.
COHOM_HD inline std::size_t write_planes(const std::int32_t* values, const std::uint32_t* widths,
                                         std::uint32_t* planes) {
  std::size_t written = 0;
  for (std::uint32_t k = 0; k < packed_max_width; ++k) {
    for (std::size_t m = 0; m < packed_minis; ++m) {
      if (widths[m] <= k || widths[m] == packed_outlier) continue;
      std::uint32_t plane = 0;
      for (std::size_t i = 0; i < packed_mini; ++i)
        plane |= (static_cast<std::uint32_t>(values[m * packed_mini + i]) >> k & 1) << i;
      planes[written++] = plane;
    }
  }
  return written;
}

/// The inverse; outlier mini-blocks give zeros.
COHOM_HD inline void read_planes(const std::uint32_t* planes, const std::uint32_t* widths,
                                 std::int32_t* values) {
  for (std::size_t i = 0; i < packed_group; ++i) values[i] = 0;
  for (std::uint32_t k = 0; k < packed_max_width; ++k) {
    for (std::size_t m = 0; m < packed_minis; ++m) {
      if (widths[m] <= k || widths[m] == packed_outlier) continue;
      const std::uint32_t plane = *planes++;
      // The last plane is the sign: it fills all bits above.
      const std::uint32_t bits =
          k + 1 == widths[m] ? ~std::uint32_t{0} << k : std::uint32_t{1} << k;
      std::int32_t* const mini = values + m * packed_mini;
      for (std::size_t i = 0; i < packed_mini; ++i) {
        const std::uint32_t mask = ~std::uint32_t{0} * (plane >> i & 1);
        mini[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(mini[i]) | (bits & mask));
      }
    }
  }
}

}  // namespace cohom::kernels::body
