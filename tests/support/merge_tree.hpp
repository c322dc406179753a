#pragma once
// Merge trees: which contributions were merged, and in which order.

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace cohom::testing {

/// Keeps one copy of every merge tree, so that two trees are equal when their numbers are. a + b
/// and b + a are different trees: floating-point sums of more than two terms depend on the order.
class MergeTrees {
 public:
  using Tree = std::uint32_t;

  explicit MergeTrees(int ranks) : ranks_(static_cast<std::size_t>(ranks)) {}

  /// What a rank encodes for one unit of a chunk.
  Tree contribution(int rank, std::uint32_t chunk, std::uint32_t unit) {
    const auto [entry, fresh] = contributions_.try_emplace({rank, chunk, unit}, next());
    if (fresh) {
      counts_.emplace_back(ranks_);
      ++counts_.back()[static_cast<std::size_t>(rank)];
    }
    return entry->second;
  }

  Tree sum(Tree left, Tree right) {
    const auto [entry, fresh] = sums_.try_emplace({left, right}, next());
    if (fresh) {
      auto counts = counts_[left];
      for (std::size_t rank = 0; rank < ranks_; ++rank) counts[rank] += counts_[right][rank];
      counts_.push_back(std::move(counts));
    }
    return entry->second;
  }

  /// How often each rank's contribution is in the tree.
  [[nodiscard]] const std::vector<std::uint32_t>& counts(Tree tree) const { return counts_[tree]; }

 private:
  [[nodiscard]] Tree next() const { return static_cast<Tree>(counts_.size()); }

  std::size_t ranks_;
  std::map<std::tuple<int, std::uint32_t, std::uint32_t>, Tree> contributions_;
  std::map<std::pair<Tree, Tree>, Tree> sums_;
  std::vector<std::vector<std::uint32_t>> counts_;
};

}  // namespace cohom::testing
