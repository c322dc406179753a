#pragma once
// What kernels of sketches share. A tile is 1024 items, of one part or several.

#include "kernels/core/body/element.hpp"
#include "kernels/device_runtime/device_context.hpp"
#include "kernels/device_runtime/phases.hpp"
#include "kernels/sketch/body/sketch_integers.hpp"
#include "kernels/sketch/integer_sketch.hpp"

#include <cstddef>
#include <cstdint>

namespace cohom::kernels::device {

inline constexpr unsigned sketch_threads = 256;
inline constexpr std::size_t sketch_tile = 1024;

/// The parts of a run, where kernels see them.
class SketchParts {
 public:
  struct Shared {
    std::size_t part;  ///< of the tile's first item
  };

  SketchParts(DeviceContext& context, const SketchRun& run);

  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] std::size_t tiles() const { return tiles_of(items_, sketch_tile); }
  [[nodiscard]] COHOM_HD const SketchPart& operator[](std::size_t part) const {
    return parts_[part];
  }

  /// A phase of its own before the tile's items are looked at.
  COHOM_HD void find_first(At at, Shared& shared) const {
    if (at.thread != 0) return;
    // The last of the parts that begin at the item or before it.
    std::size_t low = 0, high = count_;
    while (low + 1 < high) {
      const std::size_t middle = (low + high) / 2;
      (parts_[middle].first <= at.tile * sketch_tile ? low : high) = middle;
    }
    shared.part = low;
  }
  /// Calls visit(part, item) for the items of the tile that are the thread's, one of
  /// sketch_threads.
  template <class Visit>
  COHOM_HD void for_each_item(At at, const Shared& shared, Visit&& visit) const {
    const std::size_t behind = (at.tile + 1) * sketch_tile;
    const std::size_t end = behind < items_ ? behind : items_;
    for (std::size_t i = at.tile * sketch_tile + at.thread; i < end; i += sketch_threads)
      visit(part_of(i, shared), i);
  }

  /// Where the item of that number in its part goes.
  [[nodiscard]] COHOM_HD body::SketchPlace place(const SketchPart& part,
                                                 std::uint32_t number) const {
    return {part.shape, names_ != nullptr ? names_[part.first + number] - part.first_name : number};
  }

 private:
  /// Of an item of the tile.
  [[nodiscard]] COHOM_HD const SketchPart& part_of(std::size_t item, const Shared& shared) const {
    std::size_t part = shared.part;
    while (part + 1 < count_ && parts_[part + 1].first <= item) ++part;
    return parts_[part];
  }

  const SketchPart* parts_;
  std::size_t count_;
  const std::uint32_t* names_;
  std::size_t items_;
};

/// Calls visitor(T{}, numbers) with the type of elements; f64 has no integers.
template <class Visitor>
void with_integers(const SketchFormat& format, Visitor&& visitor) {
  body::with_element_type(format.type, [&]<class T>(T) {
    if constexpr (sizeof(T) <= sizeof(float)) visitor(T{}, body::SketchIntegers<T>(format.point));
  });
}

// Of SketchKernels.

void sketch_insert(const SketchRun& run, const void* elements, std::uint64_t* cells);
std::size_t sketch_peel(const SketchRun& run, const std::uint64_t* cells, std::uint8_t* known,
                        void* elements);

SketchKernels sketch_row();

}  // namespace cohom::kernels::device
