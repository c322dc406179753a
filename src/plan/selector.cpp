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
    {.max_bytes = 4096 * kib,
     .several_a_node = true,
     .only_raw = true,
     .algorithm = "mixed_radix",
     .reason = "each sum leaves a node once"},
    {.max_bytes_a_rank = 32 * kib - 1,
     .several_a_node = true,
     .only_raw = true,
     .algorithm = "mixed_radix",
     .reason = "each sum leaves a node once"},
    {.max_bytes = 64 * 1024 * kib,
     .several_a_node = true,
     .only_raw = true,
     .algorithm = "ring",
     .third = "mixed_radix",
     .reason = "neighbours are mostly on one node, and memory is copied least"},
    // Without a third way: its workspace has as many bytes as the vector.
    {.several_a_node = true,
     .only_raw = true,
     .algorithm = "ring",
     .reason = "neighbours are mostly on one node, and memory is copied least"},
    {.max_bytes = 4096 * kib,
     .max_ranks = 16,
     .only_raw = true,
     .algorithm = "direct",
     .reason = "two hops are faster than 2(n-1)"},
    {.max_bytes_a_rank = kib - 1,
     .min_ranks = 1024,
     .only_raw = true,
     .algorithm = "recursive_halving",
     .reason = few_bytes_many_ranks},
    {.max_bytes_a_rank = 256 * kib - 1,
     .min_ranks = 17,
     .only_raw = true,
     .algorithm = "mixed_radix",
     .reason = "above 16 ranks 4 sqrt(n) messages cost less than 2n"},
    {.only_raw = true, .algorithm = "ring", .reason = "fewest bytes and fewest peers"},
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
         (several_a_node || !row.several_a_node) && (input.codec == "raw" || !row.only_raw) &&
         (input.aggregator || !row.offloads);
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
    const bool bypass = row.bypass && input.codec != "raw";
    return {find_algorithm(row.algorithm), bypass, std::string(row.reason),
            row.bypass && !bypass ? nullptr : find_algorithm(row.third)};
  }
  throw Error(ErrorKind::state, "the selection table has no row for this call");
}

}  // namespace cohom
