#include "time_summary.hpp"

#include <algorithm>
#include <cmath>

namespace cohom::bench {

TimeSummary summarise(std::vector<double> seconds) {
  std::ranges::sort(seconds);
  const std::size_t count = seconds.size();
  const double middle = (seconds[(count - 1) / 2] + seconds[count / 2]) / 2;
  const auto rank = static_cast<std::size_t>(std::ceil(0.99 * static_cast<double>(count)));
  return {.min = seconds.front(), .median = middle, .p99 = seconds[rank - 1]};
}

}  // namespace cohom::bench
