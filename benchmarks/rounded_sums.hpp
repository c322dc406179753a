#pragma once
// RoundedSums: what the correctly rounded sums of all ranks' elements are, and how many of them a
// result has.

#include "element_sample.hpp"
#include "element_values.hpp"

#include <cohom/options.hpp>

#include <mpi.h>

#include <cstdint>
#include <vector>

namespace cohom::bench {

/// Of the elements that were looked at, those that are the correctly rounded sum (or mean), to the
/// bit.
struct RoundedCount {
  std::uint64_t correct = 0;
  std::uint64_t checked = 0;

  /// 1 only if all are.
  [[nodiscard]] double share() const {
    return static_cast<double>(correct) / static_cast<double>(checked);
  }
};

class RoundedSums {
 public:
  /// Of the elements that ElementSample says. `input` is this rank's vector. Collective.
  RoundedSums(const Elements& input, ReduceOp op, MPI_Comm comm);

  /// How many `result` has, on the rank that has the fewest. Collective.
  [[nodiscard]] RoundedCount count_in(const Elements& result) const;

 private:
  MPI_Comm comm_;
  ElementSample sample_;
  std::vector<double> expected_;
};

}  // namespace cohom::bench
