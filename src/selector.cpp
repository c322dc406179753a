#include "selector.hpp"

#include "text.hpp"

#include <cohom/error.hpp>

#include <limits>
#include <vector>

namespace cohom {

namespace {

constexpr std::size_t any_size = std::numeric_limits<std::size_t>::max();
constexpr int any_ranks = std::numeric_limits<int>::max();
constexpr std::size_t kib = 1024;

constexpr SelectionRow table[] = {
    {any_size, 1, 1, false, true, "direct", "one rank: nothing travels"},
    {16 * kib, 2, any_ranks, false, true, "recursive_doubling",
     "up to 16 KiB latency decides, and compressing only adds to it"},
    {4096 * kib, 2, 16, true, false, "direct", "two hops are faster than 2(n-1)"},
    {any_size, 2, any_ranks, true, false, "ring", "fewest bytes and fewest peers"},
    {any_size, 17, any_ranks, false, false, "ring",
     "above 16 ranks n^2 messages cost more than hops"},
    {any_size, 2, 16, false, false, "direct", "contributions travel in their narrow form"},
};

}  // namespace

std::span<const SelectionRow> selection_table() { return table; }

Selection select_algorithm(std::string_view requested, std::string_view codec, std::size_t bytes,
                           int ranks) {
  if (requested != "auto") {
    const AlgorithmRow* row = find_algorithm(requested);
    if (row != nullptr) return {row, false, "asked for"};
    std::vector<std::string_view> names{"auto"};
    for (const auto& known : algorithm_table()) names.push_back(known.name);
    throw Error(ErrorKind::invalid_argument, "algorithm \"" + std::string(requested) +
                                                 "\" is unknown" + suggestion(requested, names) +
                                                 "; algorithms: " + listed(names));
  }
  for (const auto& row : table) {
    if (bytes > row.max_bytes || ranks < row.min_ranks || ranks > row.max_ranks) continue;
    if (row.only_raw && codec != "raw") continue;
    return {find_algorithm(row.algorithm), row.bypass && codec != "raw", std::string(row.reason)};
  }
  throw Error(ErrorKind::state, "the selection table has no row for this call");
}

}  // namespace cohom
