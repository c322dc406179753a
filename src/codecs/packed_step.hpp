#pragma once
// The step of packed: found from a histogram of mini-block maxima so that contributions meet a
// budget, identically on all ranks (+ - * / and sqrt of IEEE 754 only; libm differs by machine).
// Specified in docs/wire-format.md, "packed".

#include <cohom/element_type.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace cohom {

/// A step is 2^(code / 32).
struct PackedStep {
  std::int32_t code = 0;

  [[nodiscard]] double value() const;
};

/// Bins of a histogram for elements of this type (kernels/body/packed_quantize.hpp).
std::size_t packed_bins(ElementType type);

/// The smallest step with which the mini-blocks that `bins` counts take at most `bits` bits a value,
/// headers included, and no finite value exceeds `limit` steps (a power of two). All zero: 1.
PackedStep step_for_budget(ElementType type, std::span<const std::uint32_t> bins, double bits,
                           std::uint32_t limit);

}  // namespace cohom
