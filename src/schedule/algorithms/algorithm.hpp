#pragma once
// Algorithms: pure functions (rank, ranks) -> Schedule, and the table that lists them.

#include "schedule/schedule.hpp"

#include <cohom/reduction_kind.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cohom {

/// How a round's sections look to an algorithm.
struct AlgorithmInput {
  int rank = 0;
  int ranks = 1;
  bool narrow = false;    ///< contributions have a narrow form, which an owner can promote
  bool disjoint = false;  ///< the narrow forms of all ranks together are no longer than a sum
  /// Some ranks' narrow contributions make a partial sum, which is added to; else only all make
  /// one.
  bool promotes_some = false;
  bool grows = false;  ///< partial sums are shorter, the fewer ranks contributed
  /// By rank: the number of its node. Empty: each is on a node of its own.
  std::span<const std::uint32_t> nodes = {};
  /// By rank: the number of its node's switch. Empty: nobody knows.
  std::span<const std::uint32_t> switches = {};
  /// Which ranks decode which chunks of the sum, and whether there is one: rank r brings chunk r of
  /// an allgather. Asked of algorithms with `chunk_of_rank`.
  ReductionKind collective = ReductionKind::allreduce;
  int root = 0;  ///< of a reduce
};

struct AlgorithmRow {
  std::string_view name;
  std::string_view summary;  ///< one line for cohom-info
  Schedule (*build)(const AlgorithmInput&) = nullptr;
  bool chunk_per_rank = false;  ///< the vector is cut into `ranks` chunks (else one)
  /// Rank r owns chunk r, and can be the only one who gets its sum, or who has it.
  bool chunk_of_rank = false;
  bool needs_aggregator = false;
  bool in_network = false;  ///< the communicator's own aggregator, not the MPI library; may fail
  bool gathers_disjoint = false;  ///< disjoint contributions go to every rank at once, in one chunk
  bool merges_at_once = false;  ///< a chunk is merged in one step, in rank order, as aggregators do
  bool for_small_rounds = false;  ///< what codecs' small rounds go by, whatever the payload takes
  bool goes_by_nodes = false;     ///< the ranks of a node exchange first
  bool joins_chunks = false;      ///< a message may speak of several

  [[nodiscard]] std::size_t chunks(int ranks, bool disjoint) const {
    return chunk_per_rank && !(disjoint && gathers_disjoint) ? static_cast<std::size_t>(ranks) : 1;
  }
};

/// Most chunks that a message of rank 0 speaks of: on other ranks there may be more or fewer, but
/// all ranks know this number.
std::size_t chunks_a_message(const AlgorithmRow& algorithm, AlgorithmInput input);

/// All algorithms of this build, in the order cohom-info prints them.
std::span<const AlgorithmRow> algorithm_table();

/// nullptr when there is none of that name in the table.
const AlgorithmRow* find_algorithm(std::string_view name);

/// In no table, for it has no schedule: the reductions of the library below (NativeSums).
inline constexpr AlgorithmRow native_algorithm{
    .name = "native", .summary = "MPI's own reduction of the vector, which nothing compresses"};

/// The one row that merges_at_once.
const AlgorithmRow& algorithm_that_merges_at_once();
/// The one row that is for_small_rounds.
const AlgorithmRow& algorithm_for_small_rounds();

/// The one row whose schedules follow nodes.
const AlgorithmRow& algorithm_that_goes_by_nodes();

/// Those by which the ranks sum themselves, for messages: "a, b or c".
std::string algorithms_of_ranks();

}  // namespace cohom
