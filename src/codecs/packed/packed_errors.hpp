#pragma once
// Which squared error a step of packed is expected to cost the ranks' sum, and the step that costs
// at most so much, identically on all ranks. Specified in docs/wire-format.md, "packed"; reasons:
// docs/theory.md.

#include "codecs/packed/packed_histogram.hpp"
#include "codecs/packed/packed_options.hpp"
#include "codecs/packed/packed_widths.hpp"

#include <cohom/element_type.hpp>

#include <cstddef>
#include <cstdint>

namespace cohom {

/// Values become integers by unbiased rounding, and no mini-block is dropped.
class PackedErrors {
 public:
  /// `histogram` counts the mini-blocks of all ranks, in units of 2^shift; a rank has `minis` of
  /// them. What exceeds `limit` steps is an outlier, and exact.
  PackedErrors(ElementType type, const PackedHistogram& histogram, std::uint64_t minis,
               unsigned shift, const PackedOptions& options, std::uint32_t ranks,
               std::uint32_t limit);

  /// Magnitudes are below 2^end().
  [[nodiscard]] int end() const;
  /// Of the whole sum, in squares of 2^end().
  [[nodiscard]] double squared_error(PackedStep step) const;
  /// The largest step, up to twice the largest magnitude, that costs at most so much.
  [[nodiscard]] PackedStep step_for(double squared_error) const;

 private:
  ElementType type_;
  PackedHistogram histogram_;
  double minis_, unit_;
  std::uint32_t limit_;
  double rounding_;  ///< variance of a value's rounding, its share of what ranks lose together
  double owners_;    ///< of what owners round off a sum
};

/// Bits a value, headers included, of vectors with normal values that keep an nmse, when ranks are
/// uncorrelated.
class PackedNormalBits {
 public:
  PackedNormalBits(const PackedOptions& options, ElementType type, std::size_t elements,
                   std::uint32_t ranks, std::uint32_t limit);

  /// Of a partial sum of so many ranks, a contribution with 1.
  [[nodiscard]] double sum(std::uint32_t ranks) const;
  /// Of a finished sum.
  [[nodiscard]] double result() const;

 private:
  [[nodiscard]] double bits(std::uint32_t ranks, unsigned down_shift) const;

  PackedHistogram histogram_;
  std::uint32_t ranks_;
  unsigned down_shift_;
  PackedStep step_;
};

}  // namespace cohom
