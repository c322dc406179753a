#pragma once
// A call of thc as its kernels see it: plain data, with tables in device memory.

#include "kernels/core/body/random.hpp"
#include "kernels/core/hd.hpp"
#include "kernels/device_runtime/device_context.hpp"
#include "kernels/thc/body/norm_code.hpp"
#include "kernels/thc/body/quantize.hpp"
#include "kernels/thc/body/rotate.hpp"
#include "kernels/thc/thc.hpp"

#include <cstddef>
#include <cstdint>

namespace cohom::kernels::device {

/// How a coefficient becomes an index: by a table of a few bytes, by the table of cells, or as it
/// is.
enum class ThcQuantiser : std::uint8_t { small, table, full };

struct ThcSettings {
  std::uint32_t rotation;
  std::uint32_t intervals;
  ThcQuantiser quantiser;
  unsigned narrow_width, wide_width;
  double encode_scale, decode_scale;

  std::uint64_t sign_key = 0, dither_key = 0, permutation_key = 0;
  std::uint32_t dither_mask = 0xff,
                dither_base = 0;  ///< byte := ((draw and mask) + base or offset) mod 256
  std::uint32_t units = 0;        ///< 0: no offsets
  const std::uint8_t* offsets = nullptr;

  /// small: 32 entries by cell, the gap in the lowest byte and 256 base + gap div 2 above it, in 16
  /// bits (see kernels/thc/cpu/thc_small_table.hpp); behind them 16 levels by index.
  const std::uint32_t* entries = nullptr;
  const ThcCell* cells = nullptr;         ///< table
  const std::uint16_t* levels = nullptr;  ///< small and table, unless an index is its level

  std::uint32_t level_bytes[4] = {};  ///< small: the 16 levels, a byte each

  static constexpr unsigned small_entries = 32, small_levels = 16;

  /// Of the frame of 256 elements with this number.
  [[nodiscard]] COHOM_HD std::uint32_t dither_offset(std::uint64_t number) const {
    if (units == 0) return dither_base;
    return offsets[body::permutation_number(body::frame(permutation_key, number), units)];
  }
  [[nodiscard]] COHOM_HD std::uint32_t level(std::uint32_t index) const {
    return levels == nullptr ? index : levels[index];
  }
  [[nodiscard]] COHOM_HD std::uint32_t index_or_level(std::uint32_t position,
                                                      std::uint32_t dither) const {
    return cells == nullptr ? body::level_of(position, dither)
                            : body::index_of(cells[position / 256], position, dither);
  }
};

/// Puts the tables into scratch. `draws` may be null where nothing is drawn.
ThcSettings upload_settings(DeviceContext& context, const ThcFormat& format, const ThcDraws* draws);

/// Whether a block of this code has nothing to send.
COHOM_HD constexpr bool is_silent(std::uint32_t code) { return code == 0 || code == outlier_code; }

}  // namespace cohom::kernels::device
