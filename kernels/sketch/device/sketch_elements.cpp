// Elements of sketches apart from their cells: what can be held, and those that are looked for one
// by one.

#include "kernels/device_runtime/current_context.hpp"
#include "kernels/device_runtime/elements.hpp"
#include "kernels/device_runtime/intrinsics.hpp"
#include "kernels/device_runtime/launch.hpp"
#include "kernels/sketch/device/sketch_rows.hpp"

#include <algorithm>
#include <vector>

namespace cohom::kernels::device {
namespace {

constexpr std::size_t tile_elements = 64 * sketch_block;  // whose bits are one word

/// So many elements, 16 bytes at a time.
template <class T>
struct Elements {
  static constexpr unsigned pack = Pack<T>::size;

  const T* elements;
  std::size_t count;
  bool packed;

  Elements(const void* from, std::size_t elements_of_it)
      : elements(view(static_cast<const T*>(from))),
        count(elements_of_it),
        packed(aligned_to(from, 16)) {}

  /// From `first` on; zeros behind the last one.
  [[nodiscard]] COHOM_HD Pack<T> read(std::size_t first) const {
    if (packed && first + pack <= count)
      return reinterpret_cast<const Pack<T>*>(elements)[first / pack];
    Pack<T> read;
    COHOM_UNROLL
    for (unsigned i = 0; i < pack; ++i)
      read.values[i] = first + i < count ? elements[first + i] : T{};
    return read;
  }
};

template <class T>
struct Largest {
  static constexpr unsigned threads = 256, side = 16;
  static constexpr Barrier barrier = Barrier::block;
  static constexpr int phases = 3;
  struct Shared {
    std::uint32_t own[threads];
    std::uint32_t groups[side];
  };
  using Local = Nothing;

  std::size_t tiles;
  Elements<T> elements;
  std::uint32_t* found;  ///< by tile

  template <int phase>
  COHOM_HD void run(At at, Shared& shared, Local&) const {
    if constexpr (phase == 0) {
      std::uint32_t largest = 0;
      for (std::size_t i = at.thread * elements.pack; i < tile_elements;
           i += threads * elements.pack)
        largest = max_of(largest, of_pack(elements.read(at.tile * tile_elements + i)));
      shared.own[at.thread] = largest;
    } else if constexpr (phase == 1) {
      if (at.thread < side) shared.groups[at.thread] = of_array(shared.own + at.thread * side);
    } else {
      if (at.thread == 0) found[at.tile] = of_array(shared.groups);
    }
  }

  COHOM_HD static std::uint32_t max_of(std::uint32_t a, std::uint32_t b) { return a > b ? a : b; }
  COHOM_HD static std::uint32_t of_array(const std::uint32_t* values) {
    std::uint32_t largest = 0;
    for (unsigned i = 0; i < side; ++i) largest = max_of(largest, values[i]);
    return largest;
  }
  COHOM_HD static std::uint32_t of_pack(const Pack<T>& read) {
    std::uint32_t largest = 0;
    COHOM_UNROLL
    for (const T value : read.values) {
      const std::uint32_t magnitude = body::magnitude_bits(body::to_arithmetic(value));
      if (magnitude < body::FloatFormat<float>::infinity) largest = max_of(largest, magnitude);
    }
    return largest;
  }
};

/// A tile has a word of bits.
template <class T>
struct FindUnheld {
  static constexpr unsigned threads = 256;
  static constexpr Barrier barrier = Barrier::block;
  static constexpr int phases = 3;
  struct Shared {
    std::uint32_t halves[2];
  };
  using Local = Nothing;

  std::size_t tiles;
  Elements<T> elements;
  body::SketchIntegers<T> numbers;
  std::uint64_t* blocks;

  template <int phase>
  COHOM_HD void run(At at, Shared& shared, Local&) const {
    if constexpr (phase == 0) {
      if (at.thread < 2) shared.halves[at.thread] = 0;
    } else if constexpr (phase == 1) {
      for (std::size_t i = at.thread * elements.pack; i < tile_elements;
           i += threads * elements.pack)
        if (!holds(elements.read(at.tile * tile_elements + i))) {
          const auto block = static_cast<unsigned>(i / sketch_block);
          atomic_or(&shared.halves[block / 32], std::uint32_t{1} << block % 32);
        }
    } else {
      if (at.thread == 0)
        blocks[at.tile] = std::uint64_t{shared.halves[1]} << 32 | shared.halves[0];
    }
  }

  [[nodiscard]] COHOM_HD bool holds(const Pack<T>& read) const {
    bool held = true;
    COHOM_UNROLL
    for (const T value : read.values) held &= numbers.holds(body::to_arithmetic(value));
    return held;
  }
};

template <class T>
struct KeepUnknown {
  static constexpr unsigned threads = 256;
  static constexpr Barrier barrier = Barrier::warp;
  static constexpr int phases = 1;
  using Shared = Nothing;
  using Local = Nothing;

  std::size_t tiles;
  const std::uint8_t* known;
  std::size_t items;
  const T* from;
  T* to;

  template <int phase>
  COHOM_HD void run(At at, Shared&, Local&) const {
    const std::size_t i = at.tile * threads + at.thread;
    if (i < items && known[i] == 0) to[i] = from[i];
  }
};

/// Between their places and those side by side.
template <class T, bool scatters>
struct MoveAnywhere {
  static constexpr unsigned threads = 256;
  static constexpr Barrier barrier = Barrier::warp;
  static constexpr int phases = 1;
  using Shared = Nothing;
  using Local = Nothing;

  std::size_t tiles;
  const std::size_t* positions;
  std::size_t count;
  const T* from;
  T* to;

  template <int phase>
  COHOM_HD void run(At at, Shared&, Local&) const {
    const std::size_t i = at.tile * threads + at.thread;
    if (i >= count) return;
    if constexpr (scatters)
      to[positions[i]] = from[i];
    else
      to[i] = from[positions[i]];
  }
};

/// So many at a time, for which there is always scratch.
constexpr std::size_t most_moved = 4096;

template <bool scatters>
void move_anywhere(DeviceContext& context, std::size_t element_bytes, const void* from,
                   const std::size_t* positions, std::size_t count, void* to) {
  const void* const where = context.upload(positions, count * sizeof *positions);
  with_bits_type(element_bytes, [&]<class T>(T) {
    using Move = MoveAnywhere<T, scatters>;
    launch(Move{.tiles = tiles_of(count, Move::threads),
                .positions = view(static_cast<const std::size_t*>(where)),
                .count = count,
                .from = view(static_cast<const T*>(from)),
                .to = view(static_cast<T*>(to))});
  });
}

std::uint32_t largest_magnitude(ElementType type, const void* elements, std::size_t count) {
  DeviceContext& context = begin_call();
  if (count == 0) return 0;
  expect_aligned(elements, size_of(type), "sketch: elements");
  const std::size_t tiles = tiles_of(count, tile_elements);
  auto* const found = static_cast<std::uint32_t*>(context.scratch(tiles * sizeof(std::uint32_t)));
  with_integers({.type = type}, [&]<class T>(T, const body::SketchIntegers<T>&) {
    launch(
        Largest<T>{.tiles = tiles, .elements = Elements<T>(elements, count), .found = view(found)});
  });
  std::vector<std::uint32_t> all(tiles);
  context.download(all.data(), found, tiles * sizeof(std::uint32_t));
  return std::ranges::max(all);
}

void find_unheld(const SketchFormat& format, const void* elements, std::size_t count,
                 std::uint64_t* blocks) {
  DeviceContext& context = begin_call();
  if (count == 0) return;
  expect_aligned(elements, size_of(format.type), "sketch: elements");
  const std::size_t tiles = tiles_of(count, tile_elements);
  auto* const found = static_cast<std::uint64_t*>(context.scratch(tiles * sizeof(std::uint64_t)));
  with_integers(format, [&]<class T>(T, const body::SketchIntegers<T>& numbers) {
    launch(FindUnheld<T>{.tiles = tiles,
                         .elements = Elements<T>(elements, count),
                         .numbers = numbers,
                         .blocks = view(found)});
  });
  context.download(blocks, found, tiles * sizeof(std::uint64_t));
}

void keep_unknown(std::size_t element_bytes, const std::uint8_t* known, std::size_t items,
                  const void* from, void* to) {
  begin_call();
  expect_aligned(from, element_bytes, "sketch: elements");
  expect_aligned(to, element_bytes, "sketch: elements");
  with_bits_type(element_bytes, [&]<class T>(T) {
    launch(KeepUnknown<T>{.tiles = tiles_of(items, KeepUnknown<T>::threads),
                          .known = view(known),
                          .items = items,
                          .from = view(static_cast<const T*>(from)),
                          .to = view(static_cast<T*>(to))});
  });
}

void gather(std::size_t element_bytes, const void* elements, const std::size_t* positions,
            std::size_t count, void* gathered) {
  expect_aligned(elements, element_bytes, "sketch: elements");
  for (std::size_t done = 0; done < count; done += most_moved) {
    DeviceContext& context = begin_call();
    const std::size_t now = std::min(most_moved, count - done);
    void* const there = context.scratch(now * element_bytes);
    move_anywhere<false>(context, element_bytes, elements, positions + done, now, there);
    context.download(static_cast<std::byte*>(gathered) + done * element_bytes, there,
                     now * element_bytes);
  }
}

void scatter(std::size_t element_bytes, const void* gathered, const std::size_t* positions,
             std::size_t count, void* elements) {
  expect_aligned(elements, element_bytes, "sketch: elements");
  for (std::size_t done = 0; done < count; done += most_moved) {
    DeviceContext& context = begin_call();
    const std::size_t now = std::min(most_moved, count - done);
    const void* const there = context.upload(
        static_cast<const std::byte*>(gathered) + done * element_bytes, now * element_bytes);
    move_anywhere<true>(context, element_bytes, there, positions + done, now, elements);
  }
}

}  // namespace

SketchKernels sketch_row() {
  return {largest_magnitude, find_unheld, sketch_insert, sketch_peel,
          keep_unknown,      gather,      scatter};
}

}  // namespace cohom::kernels::device
