#pragma once
// Selector: the static table behind algorithm=auto. Every threshold of the choice lives in it.

#include "schedule/algorithms/algorithm.hpp"

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace cohom {

/// A row applies when all its conditions hold; the first that applies decides.
struct SelectionRow {
  std::size_t max_bytes = std::numeric_limits<std::size_t>::max();  ///< of the vector
  std::size_t max_bytes_a_rank =
      std::numeric_limits<std::size_t>::max();  ///< of the vector, divided by the ranks
  int min_ranks = 1;
  int max_ranks = std::numeric_limits<int>::max();
  bool only_raw = false;  ///< applies to codec raw alone
  bool offloads =
      false;  ///< applies where an aggregator is attached that merges the payload for certain
  bool bypass = false;  ///< the vector goes raw whatever codec was asked for
  std::string_view algorithm;
  std::string_view reason;
};

std::span<const SelectionRow> selection_table();

struct Selection {
  const AlgorithmRow* algorithm = nullptr;
  bool bypass = false;
  std::string reason;
};

/// `requested` is "auto" or the name of an algorithm. `aggregator`: whether one is attached that
/// merges the codec's payload for certain.
/// @throws Error(invalid_argument) naming the nearest algorithm when there is none of that name.
Selection select_algorithm(std::string_view requested, std::string_view codec, std::size_t bytes,
                           int ranks, bool aggregator);

}  // namespace cohom
