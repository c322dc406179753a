#pragma once
// Vectors whose element type is known at run time, seen as doubles.

#include "base/huge_allocator.hpp"

#include <cohom/element_type.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace cohom::bench {

/// Elements that are made or read at a time: as doubles they stay in cache.
inline constexpr std::size_t elements_at_a_time = 1 << 15;

/// Writes `values` as elements of `type` to `out` (nearest, ties to even), values.size() of them.
void store(ElementType type, std::span<const double> values, std::byte* out);

/// Reads values.size() elements of `type` from `elements`. Exact.
void load(ElementType type, const std::byte* elements, std::span<double> values);

/// A vector in memory, aligned as frameworks for training do it.
struct Elements {
  ElementType type = ElementType::f32;
  std::size_t count = 0;
  std::vector<std::byte, HugeAllocator<std::byte>> bytes;

  Elements() = default;
  Elements(ElementType element_type, std::size_t elements)
      : type(element_type), count(elements), bytes(elements * size_of(element_type)) {}

  [[nodiscard]] std::byte* data() { return bytes.data(); }
  [[nodiscard]] const std::byte* data() const { return bytes.data(); }
  [[nodiscard]] const std::byte* at(std::size_t element) const {
    return bytes.data() + element * size_of(type);
  }
  [[nodiscard]] std::byte* at(std::size_t element) {
    return bytes.data() + element * size_of(type);
  }
};

}  // namespace cohom::bench
