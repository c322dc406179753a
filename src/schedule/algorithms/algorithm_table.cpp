#include "schedule/algorithms/algorithm.hpp"
#include "schedule/algorithms/algorithms.hpp"

#include <algorithm>
#include <vector>

namespace cohom {
namespace {

constexpr AlgorithmRow table[] = {
    {.name = "ring",
     .summary = "reduce-scatter and allgather around a ring; large vectors, many ranks",
     .build = build_ring,
     .chunk_per_rank = true,
     .chunk_of_rank = true},
    {.name = "direct",
     .summary = "contributions straight to the chunk's owner, narrow if possible; few ranks",
     .build = build_direct,
     .chunk_per_rank = true,
     .chunk_of_rank = true,
     .gathers_disjoint = true,
     .merges_at_once = true},
    {.name = "recursive_halving",
     .summary =
         "halves, quarters, ... are exchanged over doubling distances; middle sizes, many ranks",
     .build = build_recursive_halving,
     .chunk_per_rank = true,
     .joins_chunks = true},
    {.name = "grid",
     .summary = "direct in rows of about sqrt(n) ranks, then in columns; large vectors, many ranks",
     .build = build_grid,
     .chunk_per_rank = true,
     .joins_chunks = true},
    {.name = "mixed_radix",
     .summary = "direct among the ranks of a node, then among nodes, by grid if many",
     .build = build_mixed_radix,
     .chunk_per_rank = true,
     .goes_by_nodes = true,
     .joins_chunks = true},
    {.name = "tree",
     .summary = "binomial reduce to rank 0 and broadcast; small vectors, many ranks",
     .build = build_tree},
    {.name = "recursive_doubling",
     .summary = "pairwise exchange over doubling distances; smallest vectors",
     .build = build_recursive_doubling,
     .for_small_rounds = true},
    {.name = "fabric",
     .summary = "the MPI library reduces the words, in SHARP hardware where it uses any",
     .build = build_native_reduction,
     .needs_aggregator = true},
    {.name = "offload",
     .summary = "an aggregator (switch, cohom-aggregator) sums the words in the network",
     .build = build_offload,
     .needs_aggregator = true,
     .in_network = true},
};

static_assert(std::ranges::count_if(table, &AlgorithmRow::merges_at_once) == 1);
static_assert(std::ranges::count_if(table, &AlgorithmRow::for_small_rounds) == 1);
static_assert(std::ranges::count_if(table, &AlgorithmRow::goes_by_nodes) == 1);

}  // namespace

std::size_t chunks_a_message(const AlgorithmRow& algorithm, AlgorithmInput input) {
  if (!algorithm.joins_chunks) return 1;  // without a schedule, which takes time
  input.rank = 0;
  std::size_t most = 1;
  for (const Slot& slot : algorithm.build(input).slots)
    most = std::max<std::size_t>(most, slot.chunks.count);
  return most;
}

std::span<const AlgorithmRow> algorithm_table() { return table; }

const AlgorithmRow* find_algorithm(std::string_view name) {
  const auto row = std::ranges::find(table, name, &AlgorithmRow::name);
  return row == std::end(table) ? nullptr : row;
}

const AlgorithmRow& algorithm_that_merges_at_once() {
  return *std::ranges::find_if(table, &AlgorithmRow::merges_at_once);
}

const AlgorithmRow& algorithm_for_small_rounds() {
  return *std::ranges::find_if(table, &AlgorithmRow::for_small_rounds);
}

const AlgorithmRow& algorithm_that_goes_by_nodes() {
  return *std::ranges::find_if(table, &AlgorithmRow::goes_by_nodes);
}

std::string algorithms_of_ranks() {
  std::vector<std::string_view> names;
  for (const AlgorithmRow& row : table)
    if (!row.needs_aggregator) names.push_back(row.name);
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text.append(i == 0 ? "" : i + 1 == names.size() ? " or " : ", ").append(names[i]);
  return text;
}

}  // namespace cohom
