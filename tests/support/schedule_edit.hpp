#pragma once
// Building schedules of the table's algorithms, and finding the places where tests damage them.

#include "schedule/algorithms/algorithm.hpp"
#include "schedule/schedule.hpp"

#include <stdexcept>
#include <string_view>
#include <vector>

namespace cohom::testing {

/// The schedules of all ranks.
inline std::vector<Schedule> build_all(const AlgorithmRow& algorithm, int ranks,
                                       bool narrow = false, bool disjoint = false,
                                       bool promotes_some = false,
                                       ReductionKind collective = ReductionKind::allreduce,
                                       int root = 0) {
  std::vector<Schedule> schedules;
  for (int rank = 0; rank < ranks; ++rank)
    schedules.push_back(algorithm.build({.rank = rank,
                                         .ranks = ranks,
                                         .narrow = narrow,
                                         .disjoint = disjoint,
                                         .promotes_some = promotes_some,
                                         .grows = promotes_some,
                                         .collective = collective,
                                         .root = root}));
  return schedules;
}

inline std::vector<Schedule> build_all(std::string_view name, int ranks) {
  return build_all(*find_algorithm(name), ranks);
}

inline Schedule build(std::string_view name, int rank, int ranks, bool narrow = false) {
  return find_algorithm(name)->build({.rank = rank, .ranks = ranks, .narrow = narrow});
}

/// The n-th step of a kind, counted from 0.
inline Step& nth(Schedule& schedule, StepKind kind, int n = 0) {
  for (Step& step : schedule.steps)
    if (step.kind == kind && n-- == 0) return step;
  throw std::out_of_range("no such step");
}

/// The slot that the n-th step of a kind writes.
inline Slot& result_of_nth(Schedule& schedule, StepKind kind, int n = 0) {
  return schedule.slots[nth(schedule, kind, n).result];
}

/// The number of a step's index-th source.
inline std::uint32_t& source(Schedule& schedule, const Step& step, std::uint32_t index) {
  return schedule.sources[step.first_source + index];
}

}  // namespace cohom::testing
