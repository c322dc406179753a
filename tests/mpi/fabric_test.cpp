// MPI_Iallreduce as an aggregator.

#include "mpi_ext/transport/native_reductions.hpp"

#include "word_merges.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace cohom::testing {
namespace {

using mpi::NativeReductions;
using mpi::OperationId;
using mpi::Operations;
using Words = std::vector<std::uint64_t>;

constexpr Merge add{.kind = MergeKind::add};

/// Only the last rank says so of its MPI library.
Operations when_one_rank_is_wrong(mpi::OperationSet wrong) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank + 1 != ranks) wrong.reset();
  return Operations::agreed(MPI_COMM_WORLD, wrong | mpi::wrong_operations());
}

Operations operations_of(std::string_view which) {
  if (which == "Own") return Operations::own();
  if (which == "OneRankWrong") return when_one_rank_is_wrong(mpi::OperationSet().set());
  return Operations::agreed(MPI_COMM_WORLD);
}

/// By MPI's operations, and by our own, which replace those that an MPI library gets wrong.
class NativeReductionsTest : public ::testing::TestWithParam<const char*> {
 protected:
  NativeReductionsTest() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    while (!native_.prepare()) std::this_thread::yield();
  }

  [[nodiscard]] std::uint64_t rank() const { return static_cast<std::uint64_t>(rank_); }
  [[nodiscard]] std::uint64_t ranks() const { return static_cast<std::uint64_t>(ranks_); }
  /// 0 + 1 + ... of the ranks.
  [[nodiscard]] std::uint64_t sum_of_ranks() const { return ranks() * (ranks() - 1) / 2; }

  const Operations operations_ = operations_of(GetParam());
  NativeReductions native_{MPI_COMM_WORLD, operations_};
  int rank_ = 0;
  int ranks_ = 1;
};

INSTANTIATE_TEST_SUITE_P(Operations, NativeReductionsTest,
                         ::testing::Values("Mpis", "Own", "OneRankWrong"),
                         [](const auto& which) { return std::string(which.param); });

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

TEST_P(NativeReductionsTest, SupportsWhatMpiHasAnOperationFor) {
  for (const MergeKind kind : test::word_merges)
    EXPECT_TRUE(native_.supports({.kind = kind})) << name_of(kind);
  EXPECT_FALSE(native_.supports({.kind = MergeKind::add_packed}));
  const auto add_float = [](ElementType type) {
    return Merge{.kind = MergeKind::add_float, .type = type};
  };
  EXPECT_TRUE(native_.supports(add_float(ElementType::f32)));
  EXPECT_TRUE(native_.supports(add_float(ElementType::f64)));
  EXPECT_FALSE(native_.supports(add_float(ElementType::f16)));
  EXPECT_FALSE(native_.supports(add_float(ElementType::bf16)));
}

TEST_P(NativeReductionsTest, MergesWordsInPlace) {
  const std::uint64_t high = std::uint64_t(1) << 32;
  Words sum{rank(), 1, (rank() << 40) + 7};
  Words either{std::uint64_t(1) << (rank() % 64), 0};
  Words largest{rank() * high + (ranks() - rank())};
  Words floats = words_of(1.5f, static_cast<float>(rank()));
  Words doubles = words_of(0.25, -static_cast<double>(rank()));
  const auto reduction = native_.open(0, 0, 5);
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

// Where MPI takes unsigned numbers for signed ones, the largest is the one with the highest bit
// unset.
TEST_P(NativeReductionsTest, ComparesAndAddsOnBothSidesOfASignBit) {
  const std::uint64_t below = 0x7fffffff, above = 0x80000000 + rank();
  const bool last = rank() + 1 == ranks();
  const auto both = [](std::uint64_t high, std::uint64_t low) { return high << 32 | low; };
  // Either rank 0 or the last one has the largest code, and all others have small ones.
  Words largest{both(last ? 0x80000000 : below, rank() == 0 ? 0xffffffff : 5 + rank()),
                both(above, last ? below : 0), both(rank(), below - rank())};
  Words sum{below - rank(), rank() == 0 ? std::uint64_t(1) << 63 : 1, ~std::uint64_t{0}};
  Words either{rank() == 0 ? std::uint64_t(1) << 63 : std::uint64_t(1) << 31, above};
  const auto reduction = native_.open(0, 0, 3);
  reduction->start(largest, largest, {.kind = MergeKind::max}, 0);
  reduction->start(sum, sum, add, 1);
  reduction->start(either, either, {.kind = MergeKind::bit_or}, 2);
  finish(*reduction, 3);
  EXPECT_EQ(largest, (Words{both(0x80000000, 0xffffffff), both(0x80000000 + ranks() - 1, below),
                            both(ranks() - 1, below)}));
  EXPECT_EQ(sum, (Words{below * ranks() - sum_of_ranks(), (std::uint64_t(1) << 63) + ranks() - 1,
                        ~std::uint64_t{0} * ranks()}));
  std::uint64_t all_ranks = 0;
  for (std::uint64_t r = 0; r < ranks(); ++r) all_ranks |= r;
  const std::uint64_t others = ranks() > 1 ? std::uint64_t(1) << 31 : 0;
  EXPECT_EQ(either, (Words{(std::uint64_t(1) << 63) | others, 0x80000000 | all_ranks}));
}

/// In place and not, all lengths up to some vectors and what is left over.
TEST_P(NativeReductionsTest, MergesPartsOfWords) {
  const auto words_of_rank = [](std::uint64_t r, std::size_t count) {
    Words words;
    for (std::uint64_t i = 0; i < count; ++i)
      words.push_back((r * 2654435761 + i + 1) * 0x9e3779b97f4a7c15);
    return words;
  };
  for (const MergeKind kind : {MergeKind::max8, MergeKind::max16, MergeKind::max})
    for (const std::size_t count : {0, 1, 2, 3, 7, 8, 9, 31, 100, 1001}) {
      Words expected = words_of_rank(0, count);
      for (std::uint64_t r = 1; r < ranks(); ++r) {
        const Words others = words_of_rank(r, count);
        for (std::size_t i = 0; i < count; ++i)
          expected[i] = test::merged(kind, expected[i], others[i]);
      }
      const Words mine = words_of_rank(rank(), count);
      Words in_place = mine, sum(count);
      const auto reduction = native_.open(0, 0, 2);
      reduction->start(in_place, in_place, {.kind = kind}, 0);
      reduction->start(mine, sum, {.kind = kind}, 1);
      finish(*reduction, 2);
      EXPECT_EQ(in_place, expected) << name_of(kind) << ", " << count << " words";
      EXPECT_EQ(sum, expected) << name_of(kind) << ", " << count << " words";
    }
}

TEST_P(NativeReductionsTest, UsesOnlyOperationsThatAreRight) {
  for (std::size_t i = 0; i < mpi::operation_count; ++i) {
    const auto id = static_cast<OperationId>(i);
    EXPECT_TRUE(mpi::computes(operations_[id].op, id)) << operations_[id].name;
  }
}

/// What an operation does that takes T for Wrong.
template <class T, class Wrong>
void largest_as(void* in, void* in_out, int* count, MPI_Datatype* /*type*/) {
  auto* const from = static_cast<T*>(in);
  auto* const to = static_cast<T*>(in_out);
  for (int i = 0; i < *count; ++i)
    if (static_cast<Wrong>(from[i]) > static_cast<Wrong>(to[i])) to[i] = from[i];
}

/// As pmodels/mpich#6083 and open-mpi/ompi#10276 do.
TEST(Operations, AreFoundOutWhenTheyAreWrong) {
  const auto expect_wrong = [](MPI_User_function* function, OperationId id) {
    MPI_Op op = MPI_OP_NULL;
    MPI_Op_create(function, 1, &op);
    EXPECT_FALSE(mpi::computes(op, id)) << Operations::own()[id].name;
    MPI_Op_free(&op);
  };
  expect_wrong(largest_as<std::uint32_t, std::int32_t>, OperationId::max_u32);
  expect_wrong(largest_as<std::uint32_t, std::uint16_t>, OperationId::max_u32);
  expect_wrong(largest_as<std::uint8_t, std::int8_t>, OperationId::max_u8);
  expect_wrong(largest_as<std::uint16_t, std::int16_t>, OperationId::max_u16);
  expect_wrong(largest_as<std::uint16_t, std::uint8_t>, OperationId::max_u16);
  EXPECT_FALSE(mpi::computes(MPI_MAX, OperationId::or_u64));
  EXPECT_FALSE(mpi::computes(MPI_BOR, OperationId::add_u64));
  EXPECT_FALSE(mpi::computes(MPI_PROD, OperationId::add_f32));
  EXPECT_FALSE(mpi::computes(MPI_MAX, OperationId::add_f64));
}

// Ranks that passed different operations to one reduction would hang or get wrong sums.
TEST(Operations, ThatAreWrongOnOneRankAreReplacedOnAll) {
  const mpi::OperationSet wrong{1u << static_cast<unsigned>(OperationId::max_u32) |
                                1u << static_cast<unsigned>(OperationId::max_u8)};
  const Operations operations = when_one_rank_is_wrong(wrong);
  for (std::size_t i = 0; i < mpi::operation_count; ++i) {
    const auto id = static_cast<OperationId>(i);
    const bool replaced = wrong[i] || mpi::wrong_operations()[i];
    EXPECT_EQ(operations[id].own, replaced) << operations[id].name;
    EXPECT_EQ(operations[id].op == Operations::own()[id].op, replaced) << operations[id].name;
  }
}

TEST_P(NativeReductionsTest, LeavesAContributionInMemoryOfItsOwnAlone) {
  const Words mine{rank(), 7};
  Words sum(2);
  const auto reduction = native_.open(0, 0, 1);
  reduction->start(mine, sum, add, 3);
  finish(*reduction, 1);
  EXPECT_EQ(sum, (Words{sum_of_ranks(), 7 * ranks()}));
  EXPECT_EQ(mine, (Words{rank(), 7}));
}

TEST_P(NativeReductionsTest, MergesLongVectorsAndEmptyOnes) {
  Words words(300000, rank() + 1), none;
  const auto reduction = native_.open(0, 1, 2);
  reduction->start(words, words, add, 0);
  reduction->start(none, none, add, 1);
  finish(*reduction, 2);
  EXPECT_EQ(words, Words(300000, sum_of_ranks() + ranks()));
}

// The order in which MPI sees them must not depend on the rank.
TEST_P(NativeReductionsTest, CallsOfARoundTakeTurns) {
  Words a{rank()}, b{2 * rank()}, c{3 * rank()}, d(1000, 4 * rank());
  const auto first = native_.open(7, 0, 2);
  const auto second = native_.open(8, 0, 1);
  const auto third = native_.open(9, 0, 1);
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

TEST_P(NativeReductionsTest, RoundsDoNotWaitForEachOther) {
  Words a{rank()}, b{2 * rank()}, c{3 * rank()};
  const auto early = native_.open(1, 0, 1);
  const auto later = native_.open(1, 1, 2);
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

TEST_P(NativeReductionsTest, ACallThatEndedEarlyLetsOthersGoOn) {
  Words a{rank()}, b{2 * rank()};
  auto failed = native_.open(1, 0, 3);
  auto behind = native_.open(2, 0, 2);
  const auto last = native_.open(3, 0, 1);
  last->start(b, b, add, 0);
  failed->start(a, a, add, 0);
  behind.reset();  // it was not even the first
  failed.reset();  // waits for the one that was started
  EXPECT_EQ(a, Words{sum_of_ranks()});
  finish(*last, 1);
  EXPECT_EQ(b, Words{2 * sum_of_ranks()});
}

void expect_given_up(const std::function<void()>& use) {
  try {
    use();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::transport);
    EXPECT_NE(std::string(error.what()).find("ended early on this rank; make a new communicator"),
              std::string::npos)
        << error.what();
  }
}

// MPI goes on with what a rank gave up, and would take what it starts later for the rest of it.
TEST_P(NativeReductionsTest, ACallThatWasGivenUpEndsTheRoundOnThisRank) {
  MPI_Comm all = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &all);
  Words a{rank() + 1}, b{1}, c{1};
  auto given_up = native_.open(1, 0, 2);
  auto behind = native_.open(2, 0, 2);
  behind->start(b, b, add, 0);  // waits for its turn
  const bool last = rank() + 1 == ranks();
  if (!last) {
    given_up->start(a, a, add, 0);
    EXPECT_FALSE(given_up->give_up());
    std::array<Completion, 2> out;
    expect_given_up([&] { (void)behind->poll(out); });
    expect_given_up([&] { behind->start(c, c, add, 1); });
    expect_given_up([&] { (void)native_.open(3, 0, 1); });
  }
  MPI_Barrier(all);  // the others have given up before the last one starts
  if (last) {
    given_up->start(a, a, add, 0);
    finish(*given_up, 1);
    EXPECT_EQ(a, Words{sum_of_ranks() + ranks()});
    EXPECT_TRUE(given_up->give_up());
  }
  given_up.reset();  // now that the last one has come
  EXPECT_EQ(a, Words{sum_of_ranks() + ranks()});
  behind.reset();
  EXPECT_EQ(b, Words{1});
  const auto other_round = native_.open(1, 1, 1);
  other_round->start(c, c, add, 0);
  finish(*other_round, 1);
  EXPECT_EQ(c, Words{ranks()});
  MPI_Comm_free(&all);
}

TEST_P(NativeReductionsTest, CallsBeforeOneThatWasGivenUpGoOn) {
  Words a{rank()}, b{rank()}, c{rank()};
  const auto first = native_.open(1, 0, 2);
  const auto second = native_.open(2, 0, 1);
  const auto third = native_.open(3, 0, 1);
  first->start(a, a, add, 0);
  EXPECT_TRUE(third->give_up());  // it has started nothing
  second->start(b, b, add, 0);
  first->start(c, c, add, 1);
  finish(*first, 2);
  finish(*second, 1);
  EXPECT_EQ(c, Words{sum_of_ranks()});
  EXPECT_EQ(b, Words{sum_of_ranks()});
  expect_given_up([&] { (void)native_.open(4, 0, 1); });
}

TEST_P(NativeReductionsTest, ACallWithoutReductionsIsNotInTheWay) {
  Words a{rank()};
  const auto nothing = native_.open(1, 0, 0);
  const auto something = native_.open(2, 0, 1);
  something->start(a, a, add, 0);
  finish(*something, 1);
  EXPECT_EQ(a, Words{sum_of_ranks()});
}

TEST_P(NativeReductionsTest, RefusesMoreThanWasAnnounced) {
  Words a{rank()}, b{rank()};
  const auto reduction = native_.open(1, 0, 1);
  reduction->start(a, a, add, 0);
  EXPECT_THROW(reduction->start(b, b, add, 1), Error);
  finish(*reduction, 1);
}

TEST_P(NativeReductionsTest, RefusesMergesThatMpiLacksAndGoesOn) {
  Words a{rank()};
  const auto wrong = native_.open(1, 0, 1);
  const auto right = native_.open(2, 0, 1);
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
