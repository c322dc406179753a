#pragma once
// A load of calls for an aggregator, as the executor makes them: several calls in flight, each with
// rounds that overlap, in place and not; and the exact sums.

#include <cohom/offload.hpp>

#include <cstddef>
#include <cstdint>

namespace cohom::test {

struct Load {
  std::uint64_t first_call = 0;
  std::size_t calls = 20;
  std::size_t in_flight = 2;   ///< calls
  std::size_t reductions = 3;  ///< of each round
  std::size_t words = 1000;    ///< of a reduction of the payload
  int pause_milliseconds = 0;  ///< before each call
  /// Only one reduction a call, one call at a time, of ones that nobody looks at: for measuring.
  bool unchecked = false;
};

struct LoadResult {
  std::uint64_t words = 0;
  std::uint64_t wrong_words = 0;
  double call_seconds = 0;  ///< median; only of unchecked calls
};

/// Runs the load on this rank. @throws Error(transport) when the aggregator fails.
LoadResult run_load(Aggregator& aggregator, const Load& load, int rank, int ranks);

}  // namespace cohom::test
