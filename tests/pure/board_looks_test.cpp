// BoardLooks: many looks as long as they may see something, few where they never do.

#include "call/board_looks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace cohom {
namespace {

/// Looks of the calls that need `needed` of them.
std::vector<int> most_of_calls(BoardLooks& looks, const std::vector<int>& needed) {
  std::vector<int> most;
  for (const int in_vain : needed) {
    most.push_back(looks.most());
    looks.ended(std::min(in_vain, most.back()));
  }
  return most;
}

constexpr int never = 1 << 20;
constexpr int many = 1000, few = 20;

TEST(BoardLooks, AreManyWhileTheyPay) {
  BoardLooks looks;
  std::vector<int> needed;
  for (int call = 0; call < 100; ++call) needed.push_back(call % 4 == 3 ? 500 : never);
  EXPECT_EQ(most_of_calls(looks, needed), std::vector(needed.size(), many));
}

/// Now and then a call finds out whether that has changed.
TEST(BoardLooks, AreFewWhereTheyNeverPay) {
  BoardLooks looks;
  const std::vector<int> most = most_of_calls(looks, std::vector(1000, never));
  EXPECT_EQ(std::vector(most.begin(), most.begin() + 5),
            (std::vector{many, many, many, many, few}));
  EXPECT_EQ(std::count(most.begin() + 4, most.end(), many), 996 / 64);
  const std::vector<int> then = most_of_calls(looks, std::vector(65, 100));
  EXPECT_EQ(then.front(), few) << "it cannot know yet";
  EXPECT_EQ(then.back(), many);
}

/// A rank that comes last sees everything at once, whoever has a core.
TEST(BoardLooks, WhoComesLastLearnsNothing) {
  BoardLooks looks;
  std::vector<int> needed;
  for (int call = 0; call < 8; ++call) needed.push_back(call % 2 == 0 ? 0 : never);
  EXPECT_EQ(most_of_calls(looks, needed), std::vector(needed.size(), many));
  EXPECT_EQ(looks.most(), few);
}

}  // namespace
}  // namespace cohom
