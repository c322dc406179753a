#pragma once
// The step of packed: found from a histogram of mini-block maxima, and a sample, so that
// contributions and sums meet a budget, identically on all ranks. Specified in docs/wire-format.md,
// "packed".

#include "codecs/packed/packed_histogram.hpp"
#include "codecs/packed/packed_sample.hpp"
#include "codecs/packed/packed_widths.hpp"

#include <cohom/element_type.hpp>

#include <cstdint>

namespace cohom {

/// Which bits a value are to be expected with a step: contributions as wide as a histogram of them
/// tells, sums as assumed or sampled.
class PackedForecast {
 public:
  /// Contributions alone.
  PackedForecast(ElementType type, const PackedHistogram& histogram)
      : type_(type), histogram_(histogram) {}

  /// Sums are those of `ranks` uncorrelated vectors of one scale, log2(ranks) / 2 bits wider (by a
  /// straight line between powers of two), and owners round off `down_shift` bits of them.
  void assume_uncorrelated(std::uint32_t ranks, unsigned down_shift);
  /// Sums, and the contributions' deviation from what is expected, are as a sample tells.
  void trust(const PackedFindings& findings) { findings_ = findings; }

  /// Of contributions, or where sums are known, the mean of both; headers included.
  [[nodiscard]] double bits(PackedStep step) const;

  /// The smallest step that takes at most `bits` bits, and with which no finite value exceeds
  /// `limit` steps (a power of two). All zero: 1.
  [[nodiscard]] PackedStep step_for(double bits, std::uint32_t limit) const;

 private:
  [[nodiscard]] double contribution_bits(PackedStep step) const;

  ElementType type_;
  PackedHistogram histogram_;
  double growth_ = 0;  ///< of assumed sums, in bits
  PackedFindings findings_;
};

}  // namespace cohom
