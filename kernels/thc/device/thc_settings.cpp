#include "kernels/thc/device/thc_settings.hpp"

#include "kernels/device_runtime/launch.hpp"
#include "kernels/thc/cpu/thc_small_table.hpp"

#include <cstring>
#include <vector>

namespace cohom::kernels::device {
namespace {

/// Tables side by side, so that one copy takes them all.
class Tables {
 public:
  template <class T>
  std::size_t add(const T* values, std::size_t count) {
    const std::size_t at = (bytes_.size() + 15) / 16 * 16;
    bytes_.resize(at + count * sizeof(T));
    if (count != 0) std::memcpy(bytes_.data() + at, values, count * sizeof(T));
    return at;
  }
  const std::byte* upload(DeviceContext& context) const {
    return static_cast<const std::byte*>(view(context.upload(bytes_.data(), bytes_.size())));
  }

 private:
  std::vector<std::byte> bytes_;
};

std::vector<std::uint32_t> entries_of(const SmallTable& table) {
  std::vector<std::uint32_t> entries;
  for (unsigned cell = 0; cell < ThcSettings::small_entries; ++cell) {
    const std::uint32_t above = 256u * table.base[cell] + table.gap[cell] / 2u;
    entries.push_back(above << 8 | table.gap[cell]);
  }
  for (unsigned k = 0; k < ThcSettings::small_levels; ++k) entries.push_back(table.level[k]);
  return entries;
}

}  // namespace

ThcSettings upload_settings(DeviceContext& context, const ThcFormat& format,
                            const ThcDraws* draws) {
  const SmallTable small(format);
  ThcSettings settings{.rotation = format.rotation,
                       .intervals = format.intervals,
                       .quantiser = small.usable   ? ThcQuantiser::small
                                    : format.table ? ThcQuantiser::table
                                                   : ThcQuantiser::full,
                       .narrow_width = format.narrow_width,
                       .wide_width = format.wide_width,
                       .encode_scale = format.encode_scale,
                       .decode_scale = format.decode_scale};
  if (draws != nullptr) {
    settings.sign_key = draws->sign_key;
    settings.dither_key = draws->dither_key;
    settings.permutation_key = draws->permutation_key;
  }
  if (format.dither == Dither::nearest) {  // a coin for ties, and for nothing else
    settings.dither_mask = 1;
    settings.dither_base = 127;
  }
  if (format.dither == Dither::correlated)
    settings.units = static_cast<std::uint32_t>(format.dither_offsets.size());

  std::memcpy(settings.level_bytes, small.level, sizeof settings.level_bytes);

  Tables tables;
  const auto entries = entries_of(small);
  const std::size_t at_entries = tables.add(entries.data(), entries.size());
  const std::size_t at_offsets =
      tables.add(format.dither_offsets.data(), format.dither_offsets.size());
  const std::size_t at_levels = tables.add(format.levels.data(), format.levels.size());
  const std::size_t at_cells = tables.add(format.cells.data(), format.cells.size());
  const std::byte* const all = tables.upload(context);
  settings.entries = reinterpret_cast<const std::uint32_t*>(all + at_entries);
  settings.offsets = reinterpret_cast<const std::uint8_t*>(all + at_offsets);
  if (format.table) {
    settings.levels = reinterpret_cast<const std::uint16_t*>(all + at_levels);
    settings.cells = reinterpret_cast<const ThcCell*>(all + at_cells);
  }
  return settings;
}

}  // namespace cohom::kernels::device
