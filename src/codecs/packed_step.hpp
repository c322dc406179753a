#pragma once
// The step of packed: found from a histogram of mini-block maxima so that contributions meet a
// budget, identically on all ranks (+ - * / and sqrt of IEEE 754 only; libm differs by machine).
// Specified in docs/wire-format.md, "packed".

#include <cohom/element_type.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cohom {

/// A step is 2^(code / 32).
struct PackedStep {
  std::int32_t code = 0;

  [[nodiscard]] double value() const;
};

/// Bins that one rank counts in, for elements of this type (kernels/body/packed_quantize.hpp).
std::size_t packed_bins(ElementType type);

/// What the ranks agree on: the counts of the 127 quarter octaves up to the largest magnitude. What is
/// smaller than all of them takes no bits, and counts as zero.
struct PackedHistogram {
  static constexpr std::size_t window = 128;

  std::size_t top = 0;                       ///< the highest bin that is not empty; 0: all zero
  std::array<std::uint32_t, window> counts;  ///< [0]: zeros and below; [i]: bin top - 127 + i

  /// The window of a rank's bins that ends at `top`.
  static PackedHistogram of(std::span<const std::uint32_t> bins, std::size_t top);
};

/// The highest bin that is not empty, 0 when there is none but that of zeros.
std::size_t top_bin(std::span<const std::uint32_t> bins);

/// The smallest step with which the mini-blocks counted take at most `bits` bits a value, headers
/// included, and no finite value exceeds `limit` steps (a power of two). All zero: 1.
PackedStep step_for_budget(ElementType type, const PackedHistogram& histogram, double bits,
                           std::uint32_t limit);

/// Bits a value by which a sum of `ranks` uncorrelated contributions is wider than one: log2(ranks) / 2,
/// between powers of two by a straight line.
double growth_of_sums(std::uint32_t ranks);

}  // namespace cohom
