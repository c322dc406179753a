#pragma once
// Row: all that is known about one (codec, algorithm, size, input) when it has been measured.

#include "codecs/common/index/union_shape.hpp"
#include "counter_command.hpp"
#include "measure.hpp"
#include "profile_means.hpp"
#include "quality.hpp"
#include "rounded_sums.hpp"
#include "wire_formula.hpp"

#include <cohom/offload.hpp>
#include <cohom/plan.hpp>
#include <cohom/reduction_kind.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cohom::bench {

struct NativeTime {
  TimeSummary time;
  std::string algorithm;  ///< of the candidate with the best median
  /// Medians of all candidates; nothing for those too slow in the warm-up to take part.
  std::vector<std::pair<std::string, std::optional<double>>> candidates;
};

struct Timed {
  int iterations = 0;
  PlanDescription plan = {};       ///< of the timed calls
  std::uint64_t native_calls = 0;  ///< of these and the warm-up
  std::uint64_t third_calls = 0;   ///< the same, by the plan's third_algorithm
  TimeSummary time;
  NativeTime native;
  std::optional<ProfileMeans> profile = {};  ///< with --profile
  Counters counters = {};                    ///< of the network, during this row's timed turns

  [[nodiscard]] double speedup() const { return native.time.median / time.median; }
};

/// Bytes of the busiest rank in theory, had the same call other numbers of ranks: what a model
/// needs.
using FormulaByRanks = std::vector<std::pair<int, std::uint64_t>>;

struct Row {
  std::size_t bytes = 0;
  std::size_t elements = 0;
  std::string codec = {};      ///< the spec as it was given
  std::string algorithm = {};  ///< as it was given
  std::string input = {};
  bool extended = false;       ///< the input file is shorter than the vector, and repeats
  std::size_t input_rows = 0;  ///< different vectors over all ranks; 0: one for each rank
  UnionShape shape = {};
  /// Of MPI_Allreduce as it is by itself; nothing for means, which MPI has not.
  std::optional<RoundedCount> native_rounded = {};
  PlanDescription plan = {};
  std::optional<Timed> timed = {};  ///< not with --check-only
  Quality quality = {};
  RoundedCount rounded = {};
  /// Every bit is that of raw by the same algorithm; nothing where raw is unsupported.
  std::optional<bool> equals_raw = {};
  std::optional<WireBytes> wire = {};  ///< counted by the transport; not where MPI reduces (fabric)
  std::optional<OffloadCounters> offloading =
      {};  ///< where an aggregator was to sum: what became of it
  std::optional<WireBytes> formula = {};
  FormulaByRanks formula_by_ranks = {};
  std::optional<std::uint64_t> mpi_bytes =
      {};  ///< where MPI reduces: bytes handed to it, busiest rank

  /// Counted over expected bytes of the busiest rank.
  [[nodiscard]] std::optional<double> wire_ratio() const {
    if (!wire || !formula || formula->busiest_rank == 0) return std::nullopt;
    return static_cast<double>(wire->busiest_rank) / static_cast<double>(formula->busiest_rank);
  }
};

/// Bytes of the vector a second (nccl-tests' algbw), and of the same work in the unit of a link's
/// speed (busbw): of an allreduce algbw * 2(n-1)/n, of a reduce_scatter and an allgather algbw *
/// (n-1)/n, of a reduce algbw.
struct Bandwidth {
  double algorithm = 0;
  double bus = 0;
};

inline Bandwidth bandwidth(std::size_t bytes, double seconds, int ranks, ReductionKind collective) {
  const double algorithm = static_cast<double>(bytes) / seconds;
  if (collective == ReductionKind::reduce) return {algorithm, algorithm};
  const double times = collective == ReductionKind::allreduce ? 2 : 1;
  return {algorithm, algorithm * times * (ranks - 1) / ranks};
}

}  // namespace cohom::bench
