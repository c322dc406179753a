#pragma once
// TimeSummary: many measured times in three numbers.

#include <vector>

namespace cohom::bench {

/// Seconds.
struct TimeSummary {
  double min = 0;
  double median = 0;
  double p99 = 0;  ///< the smallest time that 99% do not exceed: the maximum below 100 calls
};

/// `seconds` must not be empty.
TimeSummary summarise(std::vector<double> seconds);

}  // namespace cohom::bench
