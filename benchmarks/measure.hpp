#pragma once
// Times several ways of doing the same thing in turn: A B C A B C ..., so that whatever else the
// machine does meets all of them alike.

#include "time_summary.hpp"

#include <mpi.h>

#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace cohom::bench {

struct Contender {
  std::function<void()> prepare;  ///< not timed
  std::function<void()> run;      ///< timed; collective
  /// Is left out of the timed turns when its warm-up took far longer than another rival's.
  bool rival = false;
};

struct TimingPlan {
  int warmup = 2;
  int iterations = 0;  ///< 0: as many as fit `budget_seconds`, within the limits below
  double budget_seconds = 1.5;
  std::function<void()> warm = {};  ///< called between the warm-up and the timed turns, if any

  static constexpr int min_calls = 5;
  static constexpr int max_calls = 1000;
};

struct Timing {
  int iterations = 0;
  std::vector<std::optional<TimeSummary>> times;  ///< by contender; nothing for one left out
};

/// A time is the longest over all ranks, each from its return from a barrier. Collective.
Timing measure_in_turn(std::span<const Contender> contenders, const TimingPlan& plan,
                       MPI_Comm comm);

}  // namespace cohom::bench
