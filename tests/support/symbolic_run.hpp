#pragma once
// Symbolic run: schedules of all ranks executed on merge trees.

#include "schedule/schedule.hpp"

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cohom::testing {

/// Where a message arrives.
struct Arrival {
  std::size_t rank = 0;
  std::size_t step = 0;
};

/// The receive of every send, by the send's rank and step.
using Arrivals = std::map<std::pair<std::size_t, std::size_t>, Arrival>;

/// The two extremes of what an executor may do; what lies between can do no worse.
enum class Order {
  when_ready,  ///< a step runs as soon as its sources are there
  one_by_one,  ///< a step starts when the one before has ended; so do receives, among themselves
};

/// Runs schedules whose rules and messages are in order, every chunk being cut into `units` units.
/// Returns what is wrong with the sums, or who hangs.
std::vector<std::string> run_symbolically(std::span<const Schedule> schedules,
                                          const Arrivals& arrivals, std::uint32_t units,
                                          Order order);

}  // namespace cohom::testing
