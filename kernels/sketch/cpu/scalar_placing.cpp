#include "kernels/sketch/cpu/placing_rows.hpp"

namespace cohom::kernels {
namespace {

void places(const SketchShape& shape, const std::uint32_t* names, std::size_t items,
            SketchPlace* places) {
  for (std::size_t i = 0; i < items; ++i)
    places[i] = SketchPlace(shape, names != nullptr ? names[i] : static_cast<std::uint32_t>(i));
}

std::size_t find_singles(const std::uint32_t* links, std::size_t count, std::uint32_t* numbers) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < count; ++i) {
    numbers[found] = static_cast<std::uint32_t>(i);
    found += links[i] >> 16 == 1 ? 1 : 0;
  }
  return found;
}

}  // namespace

PlacingKernels scalar_placing() { return {places, find_singles}; }

}  // namespace cohom::kernels
