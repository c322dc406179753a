#pragma once
// ExactSums: what results are compared with, the sums of all ranks' elements as float64.

#include "element_values.hpp"

#include <mpi.h>

#include <cstddef>
#include <span>
#include <vector>

namespace cohom::bench {

/// Of one vector. Up to 2^24 elements (128 MiB) all rows share one reduction; sums of more are
/// made anew each time.
class ExactSums {
 public:
  /// `input` is this rank's vector; it must outlive the sums. Collective.
  ExactSums(const Elements& input, MPI_Comm comm);

  /// Of `count` elements, at most elements_at_a_time, from `first` on; until the next call.
  /// Collective.
  std::span<const double> of(std::size_t first, std::size_t count);

 private:
  void sum(std::size_t first, std::span<double> sums) const;

  const Elements& input_;
  MPI_Comm comm_;
  bool kept_;
  std::vector<double> sums_;  ///< of all elements, or of the last part
};

}  // namespace cohom::bench
