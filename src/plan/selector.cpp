#include "plan/selector.hpp"

#include "base/text.hpp"

#include <cohom/error.hpp>

#include <vector>

namespace cohom {

namespace {

constexpr std::size_t kib = 1024;

constexpr std::string_view few_bytes_many_ranks =
    "from 1024 ranks on with less than 1 KiB a rank 2 log2(n) messages cost less than 4 sqrt(n)";

constexpr SelectionRow table[] = {
    {.max_ranks = 1, .bypass = true, .algorithm = "direct", .reason = "one rank: nothing travels"},
    {.max_bytes = 16 * kib,
     .bypass = true,
     .algorithm = "recursive_doubling",
     .third = "recursive_doubling",
     .reason = "up to 16 KiB latency decides"},
    {.offloads = true,
     .algorithm = "offload",
     .reason =
         "an aggregator is attached that adds such payloads: every word leaves once and comes "
         "back once"},
    // Each rank reads the vectors of all others (ShortSum).
    {.max_bytes = 256 * kib,
     .max_ranks = 4,
     .on_board = true,
     .only_allreduce = true,
     .bypass = true,
     .algorithm = "recursive_doubling",
     .reason = "few ranks of one node read each other's vectors"},
    // Owners have whole blocks, most of 256 elements. Which codec has which block is not asked: the
    // row is a latency bound, and f32 the common type. The whole vector travels log2(n) times, so
    // the bound does not grow for ever.
    {.max_bytes = 64 * kib,
     .max_bytes_a_rank = kib - 1,
     .min_ranks = 17,
     .bypass = true,
     .algorithm = "recursive_doubling",
     .reason = "up to 64 KiB with less than 1 KiB (256 f32 elements) a rank: few ranks would own a "
               "block, and latency decides"},
    // Vectors that are exchanged as they are travel with the agreement (ShortSum). Two ranks send
    // no more bytes so than by a schedule; compressed bytes may be fewer.
    {.max_bytes = 256 * kib,
     .max_ranks = 2,
     .between_nodes = true,
     .only_allreduce = true,
     .codec = "raw",
     .algorithm = "recursive_doubling",
     .reason = "one exchange"},
    {.max_bytes = 256 * kib,
     .max_ranks = 2,
     .between_nodes = true,
     .only_allreduce = true,
     .algorithm = "direct",
     .third = "recursive_doubling",
     .third_raw = true,
     .reason = "contributions travel in their narrow form"},
    {.max_bytes = 64 * kib,
     .min_ranks = 4,
     .max_ranks = 4,
     .several_a_node = true,
     .only_allreduce = true,
     .algorithm = "mixed_radix",
     .third = "recursive_doubling",
     .third_raw = true,
     .reason = "each sum leaves a node once"},
    {.max_bytes = 4096 * kib,
     .several_a_node = true,
     .codec = "raw",
     .algorithm = "mixed_radix",
     .reason = "each sum leaves a node once"},
    {.max_bytes_a_rank = 32 * kib - 1,
     .several_a_node = true,
     .codec = "raw",
     .algorithm = "mixed_radix",
     .reason = "each sum leaves a node once"},
    {.max_bytes = 64 * 1024 * kib,
     .several_a_node = true,
     .codec = "raw",
     .algorithm = "ring",
     .third = "mixed_radix",
     .reason = "neighbours are mostly on one node, and memory is copied least"},
    // Without a third way: its workspace has as many bytes as the vector.
    {.several_a_node = true,
     .codec = "raw",
     .algorithm = "ring",
     .reason = "neighbours are mostly on one node, and memory is copied least"},
    {.max_bytes = 4096 * kib,
     .max_ranks = 16,
     .codec = "raw",
     .algorithm = "direct",
     .reason = "two hops are faster than 2(n-1)"},
    {.max_bytes_a_rank = kib - 1,
     .min_ranks = 1024,
     .codec = "raw",
     .algorithm = "recursive_halving",
     .reason = few_bytes_many_ranks},
    {.max_bytes_a_rank = 256 * kib - 1,
     .min_ranks = 17,
     .codec = "raw",
     .algorithm = "mixed_radix",
     .reason = "above 16 ranks 4 sqrt(n) messages cost less than 2n"},
    {.codec = "raw", .algorithm = "ring", .reason = "fewest bytes and fewest peers"},
    {.max_bytes = 1024 * kib,
     .max_ranks = 16,
     .several_a_node = true,
     .algorithm = "mixed_radix",
     .third = "recursive_doubling",
     .reason = "each sum leaves a node once"},
    {.several_a_node = true, .algorithm = "mixed_radix", .reason = "each sum leaves a node once"},
    {.max_bytes_a_rank = kib - 1,
     .min_ranks = 1024,
     .algorithm = "recursive_halving",
     .reason = few_bytes_many_ranks},
    {.max_bytes_a_rank = 256 * kib - 1,
     .min_ranks = 17,
     .algorithm = "mixed_radix",
     .reason = "above 16 ranks 4 sqrt(n) messages cost less than 2n"},
    {.max_bytes = 1024 * kib,
     .max_ranks = 2,
     .algorithm = "direct",
     .third = "recursive_doubling",
     .reason = "contributions travel in their narrow form"},
    // A few bits an element: to send all of them in each hop costs little.
    {.max_bytes = 1024 * kib,
     .max_ranks = 8,
     .codec = "signcount",
     .algorithm = "direct",
     .third = "recursive_doubling",
     .reason = "contributions travel in their narrow form"},
    {.max_bytes = 1024 * kib,
     .max_ranks = 16,
     .algorithm = "direct",
     .third = "recursive_halving",
     .reason = "contributions travel in their narrow form"},
    {.algorithm = "direct", .reason = "contributions travel in their narrow form"},
};

bool fits(const SelectionRow& row, const SelectionInput& input) {
  const auto ranks = static_cast<std::uint32_t>(input.ranks);
  const bool several_a_node = input.nodes > 1 && input.nodes < ranks;
  return input.bytes <= row.max_bytes && input.bytes / ranks <= row.max_bytes_a_rank &&
         input.ranks >= row.min_ranks && input.ranks <= row.max_ranks &&
         (several_a_node || !row.several_a_node) && (input.nodes != 1 || !row.between_nodes) &&
         (input.on_board || !row.on_board) && (input.allreduce || !row.only_allreduce) &&
         (row.codec.empty() || input.codec == row.codec) && (input.aggregator || !row.offloads);
}

}  // namespace

std::span<const SelectionRow> selection_table() { return table; }

Selection select_algorithm(std::string_view requested, const SelectionInput& input) {
  if (requested != "auto") {
    const AlgorithmRow* row = find_algorithm(requested);
    if (row != nullptr) return {row, false, "asked for"};
    if (requested == native_algorithm.name)
      return {&native_algorithm, input.codec != "raw", "asked for"};
    std::vector<std::string_view> names{"auto", native_algorithm.name};
    for (const auto& known : algorithm_table()) names.push_back(known.name);
    throw Error(ErrorKind::invalid_argument, "algorithm \"" + std::string(requested) +
                                                 "\" is unknown" + suggestion(requested, names) +
                                                 "; algorithms: " + listed(names));
  }
  for (const auto& row : table) {
    if (!fits(row, input)) continue;
    const bool compresses = input.codec != "raw";
    const bool has_third = compresses || !row.bypass;
    return {.algorithm = find_algorithm(row.algorithm),
            .bypass = row.bypass && compresses,
            .reason = std::string(row.reason),
            .third = has_third ? find_algorithm(row.third) : nullptr,
            .third_bypass = row.third_raw && compresses};
  }
  throw Error(ErrorKind::state, "the selection table has no row for this call");
}

}  // namespace cohom
