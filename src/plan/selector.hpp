#pragma once
// Selector: the static table behind algorithm=auto, with the thresholds of its choice. What travels
// with the agreement on a call is ShortSum's, and what races PlanRace's.

#include "schedule/algorithms/algorithm.hpp"

#include <cstddef>
#include <cstdint>
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
  bool several_a_node = false;  ///< applies where nodes with several ranks are among others
  bool between_nodes = false;   ///< applies where ranks are not all on one node
  bool on_board = false;        ///< applies where the vector may go raw on a board of all ranks
  bool only_allreduce = false;  ///< applies where every rank gets all of the result
  std::string_view codec = {};  ///< applies to this one alone; empty: to all
  bool offloads =
      false;  ///< applies where an aggregator is attached that merges the payload for certain
  bool bypass = false;  ///< the vector goes raw whatever codec was asked for
  std::string_view algorithm;
  /// May be faster, on some links or with some codecs; a race finds out.
  std::string_view third = {};
  bool third_raw = false;  ///< it goes raw; else by the codec, even where the row bypasses that
  std::string_view reason;
};

std::span<const SelectionRow> selection_table();

struct Selection {
  const AlgorithmRow* algorithm = nullptr;
  bool bypass = false;
  std::string reason;
  const AlgorithmRow* third = nullptr;  ///< SelectionRow's; null: there is none
  bool third_bypass = false;            ///< and goes raw, whatever codec was asked for
};

/// What the table looks at. Alike on all ranks.
struct SelectionInput {
  std::string_view codec;  ///< its name
  std::size_t bytes = 0;   ///< of the vector
  int ranks = 1;
  std::uint32_t nodes = 0;  ///< that they are on; 0: each is on one of its own
  bool aggregator = false;  ///< one is attached that merges the codec's payload for certain
  bool on_board = false;    ///< ranks have a CallBoard, and the codec may be bypassed
  bool allreduce = true;    ///< else ranks get parts of the result, or bring them
};

/// `requested` is "auto" or the name of an algorithm.
/// @throws Error(invalid_argument) naming the nearest algorithm when there is none of that name.
Selection select_algorithm(std::string_view requested, const SelectionInput& input);

}  // namespace cohom
