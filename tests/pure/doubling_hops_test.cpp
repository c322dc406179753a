// With whom ranks exchange what they know of a call: both ends of every message expect each other,
// and at the end each rank has heard of every other one exactly once, in the order of ranks.

#include "agreement/doubling_hops.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <deque>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

namespace cohom::test {
namespace {

using Ranks = std::vector<int>;  ///< whom somebody has heard of, in the order of the sum

class Network {
 public:
  explicit Network(int ranks) {
    for (int rank = 0; rank < ranks; ++rank)
      ranks_.push_back({.hops = DoublingHops(rank, ranks), .known = {rank}});
  }

  /// Until nobody can go on.
  void run() {
    for (bool moved = true; std::exchange(moved, false);)
      for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
        while (step(static_cast<int>(rank))) moved = true;
  }
  [[nodiscard]] bool is_done(std::size_t rank) const {
    return ranks_[rank].hop == ranks_[rank].hops.count();
  }
  [[nodiscard]] const Ranks& known(std::size_t rank) const { return ranks_[rank].known; }
  [[nodiscard]] std::size_t messages_left() const {
    std::size_t count = 0;
    for (const auto& [ends, messages] : messages_) count += messages.size();
    return count;
  }

 private:
  struct Rank {
    DoublingHops hops;
    Ranks known;
    int hop = 0;
    bool has_sent = false;
  };

  /// Whether a message left, or the rank went on.
  bool step(int number) {
    Rank& rank = ranks_[std::size_t(number)];
    if (rank.hop == rank.hops.count()) return false;
    const DoublingHop hop = rank.hops[rank.hop];
    EXPECT_TRUE(hop.sends || hop.receives);
    const bool sends = hop.sends && !std::exchange(rank.has_sent, true);
    if (sends) messages_[{number, hop.peer}].push_back(rank.known);
    if (hop.receives) {
      auto& arriving = messages_[{hop.peer, number}];
      if (arriving.empty()) return sends;
      const Ranks& arrived = arriving.front();
      if (hop.final) rank.known.clear();
      rank.known.insert(hop.own_first ? rank.known.end() : rank.known.begin(), arrived.begin(),
                        arrived.end());
      arriving.pop_front();
    }
    ++rank.hop;
    rank.has_sent = false;
    return true;
  }

  std::vector<Rank> ranks_;
  std::map<std::pair<int, int>, std::deque<Ranks>> messages_;  ///< from, to
};

TEST(DoublingHops, BringEveryRankToEveryOtherOnce) {
  for (int ranks = 1; ranks <= 70; ++ranks) {
    Network network(ranks);
    network.run();
    Ranks all(static_cast<std::size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      ASSERT_TRUE(network.is_done(rank)) << "rank " << rank << " of " << ranks;
      ASSERT_EQ(network.known(rank), all) << "rank " << rank << " of " << ranks;
    }
    EXPECT_EQ(network.messages_left(), 0u) << ranks << " ranks";
  }
}

TEST(DoublingHops, AreAsFewAsALogarithm) {
  EXPECT_EQ(DoublingHops(0, 1).count(), 0);
  EXPECT_EQ(DoublingHops(5, 8).count(), 3);
  EXPECT_EQ(DoublingHops(0, 9).count(), 5) << "a member for two";
  EXPECT_EQ(DoublingHops(1, 9).count(), 1) << "which hands in, and gets all";
  EXPECT_EQ(DoublingHops(2, 9).count(), 3);
}

}  // namespace
}  // namespace cohom::test
