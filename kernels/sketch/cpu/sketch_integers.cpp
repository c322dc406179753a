// Sketches of integers on a processor: part by part, each small enough for the second cache.

#include "kernels/sketch/body/sketch_integers.hpp"
#include "kernels/core/body/element.hpp"
#include "kernels/sketch/cpu/sketch_row.hpp"
#include "kernels/sketch/sketch_workspace.hpp"

#include <algorithm>
#include <cstring>

namespace cohom::kernels {
namespace {

using namespace body;

/// Calls visit(T{}, numbers) with the type of elements; f64 has no integers.
template <class Visit>
void with_integers(const SketchFormat& format, Visit visit) {
  with_element_type(format.type, [&]<class T>(T) {
    if constexpr (sizeof(T) <= sizeof(float)) visit(T{}, SketchIntegers<T>(format.point));
  });
}

template <class T>
void to_cells(const SketchIntegers<T>& numbers, const std::byte* elements, std::size_t count,
              std::uint64_t* cells) {
  for (std::size_t i = 0; i < count; ++i)
    cells[i] = numbers.cell_or_zero(load_element<T>(elements, i));
}

template <class T>
void from_cells(const SketchIntegers<T>& numbers, const std::uint64_t* cells,
                const std::uint8_t* known, std::size_t count, std::byte* elements) {
  for (std::size_t i = 0; i < count; ++i)
    if (known == nullptr || known[i] != 0) store_element<T>(elements, i, numbers.value(cells[i]));
}

void insert(const SketchRun& run, const void* elements, std::uint64_t* cells) {
  SketchWorkspace& work = *run.workspace;
  std::fill_n(cells, run.cells(), 0u);
  with_integers(run.format, [&]<class T>(T, const SketchIntegers<T>& numbers) {
    for (const SketchPart& part : run.parts) {
      const std::byte* const from =
          static_cast<const std::byte*>(elements) + part.first * sizeof(T);
      std::uint64_t* const own = cells + part.first_cell;
      auto* const values = work.values<std::uint64_t>();
      to_cells(numbers, from, part.items, part.plain ? own : values);
      if (!part.plain) sketch_insert(work.places_of(run, part), values, own);
    }
  });
}

std::size_t peel(const SketchRun& run, const std::uint64_t* cells, std::uint8_t* known,
                 void* elements) {
  SketchWorkspace& work = *run.workspace;
  std::size_t left = 0;
  with_integers(run.format, [&]<class T>(T, const SketchIntegers<T>& numbers) {
    for (const SketchPart& part : run.parts) {
      const std::uint64_t* const own = cells + part.first_cell;
      std::uint8_t* const found = known + part.first;
      std::size_t missing = 0;
      if (part.plain)
        std::fill_n(found, part.items, std::uint8_t{1});
      else
        missing = work.peel(run, part, own, found);
      from_cells(numbers, part.plain ? own : work.values<std::uint64_t>(),
                 missing == 0 ? nullptr : found, part.items,
                 static_cast<std::byte*>(elements) + part.first * sizeof(T));
      left += missing;
    }
  });
  return left;
}

void keep_unknown(std::size_t element_bytes, const std::uint8_t* known, std::size_t items,
                  const void* from, void* to) {
  for (std::size_t i = 0; i < items; ++i)
    if (known[i] == 0)
      std::memcpy(static_cast<std::byte*>(to) + i * element_bytes,
                  static_cast<const std::byte*>(from) + i * element_bytes, element_bytes);
}

void gather(std::size_t element_bytes, const void* elements, const std::size_t* positions,
            std::size_t count, void* gathered) {
  for (std::size_t i = 0; i < count; ++i)
    std::memcpy(static_cast<std::byte*>(gathered) + i * element_bytes,
                static_cast<const std::byte*>(elements) + positions[i] * element_bytes,
                element_bytes);
}

void scatter(std::size_t element_bytes, const void* gathered, const std::size_t* positions,
             std::size_t count, void* elements) {
  for (std::size_t i = 0; i < count; ++i)
    std::memcpy(static_cast<std::byte*>(elements) + positions[i] * element_bytes,
                static_cast<const std::byte*>(gathered) + i * element_bytes, element_bytes);
}

}  // namespace

SketchKernels cpu_sketch() { return {insert, peel, keep_unknown, gather, scatter}; }

}  // namespace cohom::kernels
