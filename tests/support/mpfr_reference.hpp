#pragma once
// Correctly rounded sums and means, by MPFR: what the codec exact and faster references are held
// to.

#include "elements.hpp"

#include <cohom/element_type.hpp>

#include <mpfr.h>

#include <cstdint>
#include <span>

namespace cohom::test {

/// A sum of elements without any rounding.
class MpfrSum {
 public:
  MpfrSum();
  ~MpfrSum();
  MpfrSum(const MpfrSum&) = delete;
  MpfrSum& operator=(const MpfrSum&) = delete;

  /// As before the first add().
  void clear();
  /// Adds a value so many times.
  void add(double value, unsigned long times = 1);
  /// The quotient, rounded once to a number of the type: to nearest, ties to even; of magnitudes
  /// that are too large an infinity. NaN has sign 0 and the quiet bit alone. A zero is -0 where all
  /// values are, or where a negative quotient is rounded to it.
  double rounded(ElementType type, unsigned long divisor);

 private:
  mpfr_t sum_, product_, quotient_;
  std::uint64_t values_ = 0, minus_zeros_ = 0;
  bool nan_ = false, plus_infinity_ = false, minus_infinity_ = false;
};

/// Of each element over all vectors.
Bytes mpfr_sums(ElementType type, std::span<const Bytes> vectors, std::uint64_t divisor);

}  // namespace cohom::test
