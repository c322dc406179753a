// MPI_Iallreduce as an aggregator.

#include "mpi_ext/mpi_fabric.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace cohom::testing {
namespace {

using mpi::MpiFabric;
using Words = std::vector<std::uint64_t>;

constexpr Merge add{.kind = MergeKind::add};

class MpiFabricTest : public ::testing::Test {
 protected:
  MpiFabricTest() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  }

  [[nodiscard]] std::uint64_t rank() const { return static_cast<std::uint64_t>(rank_); }
  [[nodiscard]] std::uint64_t ranks() const { return static_cast<std::uint64_t>(ranks_); }
  /// 0 + 1 + ... of the ranks.
  [[nodiscard]] std::uint64_t sum_of_ranks() const { return ranks() * (ranks() - 1) / 2; }

  MpiFabric fabric_{MPI_COMM_WORLD};
  int rank_ = 0;
  int ranks_ = 1;
};

/// Polls until `count` reductions are complete, all cookies different; others may need polls, too.
std::set<std::uint64_t> finish(Reduction& reduction, std::size_t count) {
  std::set<std::uint64_t> cookies;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::array<Completion, 2> out;
  while (cookies.size() < count) {
    const std::size_t done = reduction.poll(out);
    for (std::size_t i = 0; i < done; ++i) EXPECT_TRUE(cookies.insert(out[i].cookie).second);
    if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("nothing arrives");
    std::this_thread::yield();
  }
  return cookies;
}

template <class Float>
Words words_of(Float first, Float second) {
  const std::array<Float, 2> values{first, second};
  if constexpr (sizeof(Float) == 8)
    return {std::bit_cast<std::uint64_t>(first), std::bit_cast<std::uint64_t>(second)};
  else
    return {std::bit_cast<std::uint64_t>(values)};
}

TEST_F(MpiFabricTest, SupportsWhatMpiHasAnOperationFor) {
  for (const MergeKind kind : {MergeKind::add, MergeKind::bit_or, MergeKind::max})
    EXPECT_TRUE(fabric_.supports({.kind = kind}));
  EXPECT_FALSE(fabric_.supports({.kind = MergeKind::add_packed}));
  const auto add_float = [](ElementType type) {
    return Merge{.kind = MergeKind::add_float, .type = type};
  };
  EXPECT_TRUE(fabric_.supports(add_float(ElementType::f32)));
  EXPECT_TRUE(fabric_.supports(add_float(ElementType::f64)));
  EXPECT_FALSE(fabric_.supports(add_float(ElementType::f16)));
  EXPECT_FALSE(fabric_.supports(add_float(ElementType::bf16)));
}

TEST_F(MpiFabricTest, MergesWordsInPlace) {
  const std::uint64_t high = std::uint64_t(1) << 32;
  Words sum{rank(), 1, (rank() << 40) + 7};
  Words either{std::uint64_t(1) << (rank() % 64), 0};
  Words largest{rank() * high + (ranks() - rank())};
  Words floats = words_of(1.5f, static_cast<float>(rank()));
  Words doubles = words_of(0.25, -static_cast<double>(rank()));
  const auto reduction = fabric_.open(0, 0, 5);
  reduction->start(sum, sum, add, 10);
  reduction->start(either, either, {.kind = MergeKind::bit_or}, 11);
  reduction->start(largest, largest, {.kind = MergeKind::max}, 12);
  reduction->start(floats, floats, {.kind = MergeKind::add_float, .type = ElementType::f32}, 13);
  reduction->start(doubles, doubles, {.kind = MergeKind::add_float, .type = ElementType::f64}, 14);
  EXPECT_EQ(finish(*reduction, 5), (std::set<std::uint64_t>{10, 11, 12, 13, 14}));
  EXPECT_EQ(sum, (Words{sum_of_ranks(), ranks(), (sum_of_ranks() << 40) + 7 * ranks()}));
  EXPECT_EQ(either, (Words{(std::uint64_t(1) << ranks()) - 1, 0}));
  EXPECT_EQ(largest, Words{(ranks() - 1) * high + ranks()});
  EXPECT_EQ(floats, words_of(1.5f * float(ranks_), static_cast<float>(sum_of_ranks())));
  EXPECT_EQ(doubles, words_of(0.25 * ranks_, -static_cast<double>(sum_of_ranks())));
}

TEST_F(MpiFabricTest, LeavesAContributionInMemoryOfItsOwnAlone) {
  const Words mine{rank(), 7};
  Words sum(2);
  const auto reduction = fabric_.open(0, 0, 1);
  reduction->start(mine, sum, add, 3);
  finish(*reduction, 1);
  EXPECT_EQ(sum, (Words{sum_of_ranks(), 7 * ranks()}));
  EXPECT_EQ(mine, (Words{rank(), 7}));
}

TEST_F(MpiFabricTest, MergesLongVectorsAndEmptyOnes) {
  Words words(300000, rank() + 1), none;
  const auto reduction = fabric_.open(0, 1, 2);
  reduction->start(words, words, add, 0);
  reduction->start(none, none, add, 1);
  finish(*reduction, 2);
  EXPECT_EQ(words, Words(300000, sum_of_ranks() + ranks()));
}

// The order in which MPI sees them must not depend on the rank.
TEST_F(MpiFabricTest, CallsOfARoundTakeTurns) {
  Words a{rank()}, b{2 * rank()}, c{3 * rank()}, d(1000, 4 * rank());
  const auto first = fabric_.open(7, 0, 2);
  const auto second = fabric_.open(8, 0, 1);
  const auto third = fabric_.open(9, 0, 1);
  if (rank() % 2 == 0) {
    first->start(a, a, add, 0);
    first->start(b, b, add, 1);
    second->start(c, c, add, 2);
    third->start(d, d, add, 3);
  } else {
    third->start(d, d, add, 3);
    first->start(a, a, add, 0);
    second->start(c, c, add, 2);
    first->start(b, b, add, 1);
  }
  finish(*third, 1);
  finish(*second, 1);
  finish(*first, 2);
  EXPECT_EQ(a, Words{sum_of_ranks()});
  EXPECT_EQ(b, Words{2 * sum_of_ranks()});
  EXPECT_EQ(c, Words{3 * sum_of_ranks()});
  EXPECT_EQ(d, Words(1000, 4 * sum_of_ranks()));
}

TEST_F(MpiFabricTest, RoundsDoNotWaitForEachOther) {
  Words a{rank()}, b{2 * rank()}, c{3 * rank()};
  const auto early = fabric_.open(1, 0, 1);
  const auto later = fabric_.open(1, 1, 2);
  if (rank() % 2 == 0) {
    later->start(b, b, add, 0);
    early->start(a, a, add, 1);
    later->start(c, c, add, 2);
  } else {
    early->start(a, a, add, 1);
    later->start(b, b, add, 0);
    later->start(c, c, add, 2);
  }
  finish(*later, 2);
  finish(*early, 1);
  EXPECT_EQ(a, Words{sum_of_ranks()});
  EXPECT_EQ(b, Words{2 * sum_of_ranks()});
  EXPECT_EQ(c, Words{3 * sum_of_ranks()});
}

TEST_F(MpiFabricTest, ACallThatEndedEarlyLetsOthersGoOn) {
  Words a{rank()}, b{2 * rank()};
  auto failed = fabric_.open(1, 0, 3);
  auto behind = fabric_.open(2, 0, 2);
  const auto last = fabric_.open(3, 0, 1);
  last->start(b, b, add, 0);
  failed->start(a, a, add, 0);
  behind.reset();  // it was not even the first
  failed.reset();  // waits for the one that was started
  EXPECT_EQ(a, Words{sum_of_ranks()});
  finish(*last, 1);
  EXPECT_EQ(b, Words{2 * sum_of_ranks()});
}

TEST_F(MpiFabricTest, ACallWithoutReductionsIsNotInTheWay) {
  Words a{rank()};
  const auto nothing = fabric_.open(1, 0, 0);
  const auto something = fabric_.open(2, 0, 1);
  something->start(a, a, add, 0);
  finish(*something, 1);
  EXPECT_EQ(a, Words{sum_of_ranks()});
}

TEST_F(MpiFabricTest, RefusesMoreThanWasAnnounced) {
  Words a{rank()}, b{rank()};
  const auto reduction = fabric_.open(1, 0, 1);
  reduction->start(a, a, add, 0);
  EXPECT_THROW(reduction->start(b, b, add, 1), Error);
  finish(*reduction, 1);
}

TEST_F(MpiFabricTest, RefusesMergesThatMpiLacksAndGoesOn) {
  Words a{rank()};
  const auto wrong = fabric_.open(1, 0, 1);
  const auto right = fabric_.open(2, 0, 1);
  right->start(a, a, add, 0);
  try {
    wrong->start(a, a, {.kind = MergeKind::add_float, .type = ElementType::bf16}, 0);
    ADD_FAILURE() << "bf16 was added";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_STREQ(error.what(), "MPI has no operation for the merge add_float of bf16");
  }
  finish(*right, 1);
  EXPECT_EQ(a, Words{sum_of_ranks()});
}

}  // namespace
}  // namespace cohom::testing
