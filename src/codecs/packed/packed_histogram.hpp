#pragma once
// How many mini-blocks have which largest magnitude, by quarter octaves.

#include <cohom/element_type.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cohom {

/// Bins that one rank counts in, for elements of this type
/// (kernels/packed/body/packed_quantize.hpp).
std::size_t packed_bins(ElementType type);

/// The highest bin that is not empty, 0 when there is none but that of zeros.
std::size_t top_bin(std::span<const std::uint32_t> bins);

/// Counters of all ranks are added in 32 bits. They count in units of 2^(so many) mini-blocks, so
/// that no sum overflows: 0 until `ranks` times a rank's `minis` do not fit.
unsigned packed_count_shift(std::uint64_t minis, std::uint32_t ranks);

/// What the ranks agree on: the counts of the 127 quarter octaves up to the largest magnitude. What
/// is smaller than all of them takes no bits, and counts as zero.
struct PackedHistogram {
  static constexpr std::size_t window = 128;
  static constexpr std::size_t words = window / 2;  ///< of two counters each

  std::size_t top = 0;                         ///< the highest bin that is not empty; 0: all zero
  std::array<std::uint32_t, window> counts{};  ///< [0]: zeros and below; [i]: bin(i)

  /// The bin that counter i > 0 counts.
  [[nodiscard]] std::size_t bin(std::size_t i) const { return top + i - (window - 1); }

  /// The window of a rank's bins that ends at `top`.
  static PackedHistogram of(std::span<const std::uint32_t> bins, std::size_t top);

  /// The same in units of 2^shift mini-blocks, rounded up: what is there stays.
  [[nodiscard]] PackedHistogram in_units(unsigned shift) const;

  // In words, which ranks add.
  void write(std::span<std::uint64_t> out) const;
  static PackedHistogram read(std::span<const std::uint64_t> sum, std::size_t top);
  /// Of a sum: each finite mini-block of each rank was counted once, in a bin that there is; units
  /// were rounded up bin by bin.
  /// @throws Error(transport) when no ranks, of so many `minis` each, can have sent it.
  void check(std::uint64_t minis, unsigned shift, std::uint32_t ranks) const;
};

}  // namespace cohom
