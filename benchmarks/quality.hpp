#pragma once
// Quality: how close a result is to the exact sum, and whether all ranks have the same one.

#include "element_values.hpp"
#include "exact_sums.hpp"

#include <cohom/options.hpp>

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cohom::bench {

struct Quality {
  /// Sum of squared errors over the sum of squares of the exact result (of the worst rank).
  double vnmse = 0;
  double max_abs_error = 0;
  /// vNMSE of the sum of all steps' results against the exact one; with several steps only.
  std::optional<double> vnmse_running_sum;
  bool identical_across_ranks = true;  ///< in every step, to the bit
  std::uint64_t result_hash = 0;       ///< XXH3 of the last step's result on rank 0
};

/// Follows the steps of one correctness run. Every step reduces the same input, so the exact
/// running sum after s steps is s times the exact sum. Collective, each function.
class QualityMeter {
 public:
  /// `steps` is how many results will come.
  QualityMeter(int steps, MPI_Comm comm) : steps_(steps), comm_(comm) {}

  /// Takes the result of the next step.
  void add_result(const Elements& result);

  /// XXH3 of the last result on rank 0.
  [[nodiscard]] std::uint64_t hash() const { return hash_; }

  /// `sums` are of the vector that was reduced.
  [[nodiscard]] Quality finish(ExactSums& sums, const Elements& last_result, ReduceOp op) const;

 private:
  int steps_;
  MPI_Comm comm_;
  std::vector<double> running_sum_;
  bool identical_ = true;
  std::uint64_t hash_ = 0;
};

/// 16 hexadecimal digits.
std::string hash_text(std::uint64_t hash);

}  // namespace cohom::bench
