#pragma once
// ErrorRatio: vNMSE, the normalised mean squared error of a vector.

#include <cmath>
#include <limits>

namespace cohom::bench {

/// |expected - found|; 0 for equal infinities and for two NaNs, infinite where only one is finite.
inline double deviation(double expected, double found) {
  if (expected == found || (std::isnan(expected) && std::isnan(found))) return 0;
  const double difference = std::abs(expected - found);
  return std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
}

/// sum (expected - found)^2 / sum expected^2 over the elements of a vector.
class ErrorRatio {
 public:
  void add(double expected, double found) {
    const long double difference = deviation(expected, found);
    error_ += difference * difference;
    // A result that is rightly infinite or NaN has no error, and no square to compare with.
    if (std::isfinite(expected)) squares_ += static_cast<long double>(expected) * expected;
  }

  /// 0 without any error, infinite when there are only errors.
  [[nodiscard]] double value() const {
    return error_ == 0 ? 0 : static_cast<double>(error_ / squares_);
  }

 private:
  // The square of a double above 2^512 is no double, and neither is one below 2^-538.
  long double error_ = 0;
  long double squares_ = 0;
};

}  // namespace cohom::bench
