#pragma once
// RowRunner: measures and checks rows on this rank's vector. Every function is collective.

#include "bench_options.hpp"
#include "call_vectors.hpp"
#include "exact_sums.hpp"
#include "inputs.hpp"
#include "measure.hpp"
#include "native.hpp"
#include "rounded_sums.hpp"
#include "row.hpp"

#include <cohom/communicator.hpp>

#include <mpi.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace cohom::bench {

class RowRunner {
 public:
  /// Everything given must outlive the runner.
  RowRunner(const BenchOptions& options, Communicator& communicator, MPI_Comm comm);

  /// Before the rest. Not collective. @throws UsageError where there is no memory as asked for
  void open_memory() { vectors_.open(); }

  /// Makes a plan for the smallest vector, so that whatever cannot run is known before any timing.
  /// @throws Error on all ranks alike
  void check_combination(const std::string& codec, const std::string& algorithm);

  /// Makes this rank's vector. Not collective, so that its failure can be told to all.
  void make_vector(const std::string& spec, Input& input, std::size_t bytes);

  /// @throws Error on all ranks alike
  Row run(const std::string& codec, const std::string& algorithm);

 private:
  [[nodiscard]] Options plan_options(const std::string& codec, const std::string& algorithm) const;
  /// Of timed calls, which may go natively.
  [[nodiscard]] Options timed_options(const std::string& codec, const std::string& algorithm) const;
  /// Of calls on the vector of the row.
  [[nodiscard]] Plan make_plan(std::size_t elements, const Options& options);
  void call(Plan& plan);
  void collect_output();
  void restore_calls_input();
  [[nodiscard]] bool gathers() const { return options_.collective == ReductionKind::allgather; }
  [[nodiscard]] std::size_t own_first() const;
  void keep_own_part();
  void restore_native_input();
  void run_native(const NativeCandidate& candidate);
  void learn_about_vector();
  void wait_for_aggregator(const Row& row);
  void check(Row& row);
  [[nodiscard]] std::optional<std::uint64_t> raw_hash(const std::string& algorithm);
  [[nodiscard]] const FormulaByRanks& formula_by_ranks(const Row& row);
  [[nodiscard]] std::uint64_t last_step() const {
    return static_cast<std::uint64_t>(options_.steps) - 1;
  }
  [[nodiscard]] std::vector<Contender> native_contenders();
  [[nodiscard]] NativeTime time_native();
  [[nodiscard]] Timed measure(const Row& row);

  const BenchOptions& options_;
  Communicator& communicator_;
  MPI_Comm comm_;
  NativeReduction native_;
  Row vector_;  ///< what all rows of the current vector have in common
  bool waited_for_aggregator_ = false;
  std::optional<ExactSums> exact_sums_;      ///< of the current vector, when a row has asked
  std::optional<RoundedSums> rounded_sums_;  ///< likewise
  std::optional<NativeTime> native_time_;    ///< likewise, with --native-apart
  /// By algorithm, of the current vector.
  std::map<std::string, std::optional<std::uint64_t>> raw_hashes_;
  /// By codec, algorithm and elements.
  std::map<std::tuple<std::string, std::string, std::size_t>, FormulaByRanks> formulas_;
  std::optional<CounterCommand> counter_command_;  ///< rank 0's
  Elements input_, output_;
  CallVectors vectors_;
};

}  // namespace cohom::bench
