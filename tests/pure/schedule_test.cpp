// Every algorithm, proved on symbols: no words are moved here.

#include "schedule/schedule.hpp"

#include "schedule/algorithms/algorithm.hpp"
#include "support/chunk_proof.hpp"
#include "support/schedule_edit.hpp"
#include "support/schedule_rules.hpp"
#include "support/symbolic_checker.hpp"
#include "support/thoroughness.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace cohom {
namespace {

using testing::build;

struct Case {
  const AlgorithmRow* algorithm = nullptr;
  int ranks = 1;
  bool narrow = false;
  bool disjoint = false;
};

std::string name_of(const Case& c) {
  return std::string(c.algorithm->name) + "_" + std::to_string(c.ranks) +
         (c.disjoint ? "_disjoint"
          : c.narrow ? "_narrow"
                     : "_wide");
}

void PrintTo(const Case& c, std::ostream* out) { *out << name_of(c); }

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const AlgorithmRow& algorithm : algorithm_table()) {
    for (const auto& [narrow, disjoint] :
         {std::pair{false, false}, std::pair{true, false}, std::pair{true, true}}) {
      const int most = test::takes_all_cases() ? 65 : test::sanitized ? 20 : 34;
      for (int ranks = 1; ranks <= most; ++ranks)
        cases.push_back({&algorithm, ranks, narrow, disjoint});
      for (const int ranks : {33, 47, 64, 65, 100})
        if (ranks > most && (ranks == 33 || !test::sanitized))
          cases.push_back({&algorithm, ranks, narrow, disjoint});
    }
  }
  return cases;
}

int count(const Schedule& schedule, StepKind kind) {
  return static_cast<int>(std::ranges::count(schedule.steps, kind, &Step::kind));
}

class EveryAlgorithm : public ::testing::TestWithParam<Case> {
 protected:
  const std::vector<Schedule> schedules_ =
      testing::build_all(*GetParam().algorithm, GetParam().ranks, GetParam().narrow,
                         GetParam().disjoint, GetParam().narrow && !GetParam().disjoint);
};

TEST_P(EveryAlgorithm, IsCorrect) {
  for (const std::uint32_t units : {1u, 3u}) {
    const auto problems = testing::check_schedules(schedules_, units);
    for (std::size_t i = 0; i < std::min<std::size_t>(problems.size(), 5); ++i)
      ADD_FAILURE() << units << " units: " << problems[i];
  }
}

TEST_P(EveryAlgorithm, CutsAndJoinsTheVectorAsItsRowSays) {
  const auto chunks = GetParam().algorithm->chunks(GetParam().ranks, GetParam().disjoint);
  for (const Schedule& schedule : schedules_)
    EXPECT_EQ(schedule.chunks, static_cast<std::uint32_t>(chunks));
  if (GetParam().algorithm->joins_chunks) return;
  for (const Schedule& schedule : schedules_)
    for (const Slot& slot : schedule.slots) EXPECT_EQ(slot.chunks.count, 1u);
}

TEST_P(EveryAlgorithm, AsksForAnAggregatorOnlyWhenItsRowSaysSo) {
  const bool offloads = GetParam().algorithm->needs_aggregator;
  for (const Schedule& schedule : schedules_)
    EXPECT_EQ(count(schedule, StepKind::offload), offloads ? 1 : 0);
}

TEST_P(EveryAlgorithm, TakesTheNarrowFormOnlyWhenOffered) {
  if (GetParam().narrow) return;
  for (const Schedule& schedule : schedules_)
    for (const Slot& slot : schedule.slots) EXPECT_EQ(slot.form, Form::wide);
}

// An executor may then let the buffer be the user's output memory.
TEST_P(EveryAlgorithm, DecodesFromBuffersThatNothingElseUses) {
  if (GetParam().algorithm->needs_aggregator) return;
  for (const Schedule& schedule : schedules_) {
    for (const Step& step : schedule.steps) {
      if (step.kind != StepKind::decode) continue;
      const auto buffer = schedule.slots[schedule.sources_of(step).front()].buffer;
      EXPECT_EQ(std::ranges::count(schedule.slots, buffer, &Slot::buffer), 1);
    }
  }
}

// Every rank that has a message to send before it receives any sends it after a single encode.
TEST_P(EveryAlgorithm, EncodesNothingElseBeforeItsFirstSend) {
  for (const Schedule& schedule : schedules_) {
    int encodes = 0;
    for (const Step& step : schedule.steps) {
      if (step.kind == StepKind::send) break;
      if (step.kind == StepKind::encode) ++encodes;
    }
    EXPECT_EQ(encodes, 1) << to_string(schedule);
  }
}

INSTANTIATE_TEST_SUITE_P(Table, EveryAlgorithm, ::testing::ValuesIn(all_cases()),
                         [](const auto& test) { return name_of(test.param); });

// A reduce_scatter's chunks, and a reduce's, from each of a few roots.
TEST(ChunkOfRank, GetsWhatItsRanksAsk) {
  for (const AlgorithmRow& algorithm : algorithm_table()) {
    if (!algorithm.chunk_of_rank) continue;
    for (int ranks = 1; ranks <= 19; ++ranks) {
      for (const auto& [narrow, disjoint] :
           {std::pair{false, false}, std::pair{true, false}, std::pair{true, true}}) {
        SCOPED_TRACE(name_of(Case{&algorithm, ranks, narrow, disjoint}));
        // Older clang-tidy rejects structured bindings that are captured as they are.
        const auto schedules = [&, narrow = narrow, disjoint = disjoint](ReductionKind collective,
                                                                         int root) {
          return testing::build_all(algorithm, ranks, narrow, disjoint, narrow && !disjoint,
                                    collective, root);
        };
        EXPECT_EQ(testing::check_schedules(
                      schedules(ReductionKind::reduce_scatter, 0), 2,
                      [](int rank, std::uint32_t chunk) { return std::uint32_t(rank) == chunk; }),
                  std::vector<std::string>());
        for (const int root : {0, ranks / 2, ranks - 1})
          EXPECT_EQ(
              testing::check_schedules(schedules(ReductionKind::reduce, root), 2,
                                       [root](int rank, std::uint32_t) { return rank == root; }),
              std::vector<std::string>());
      }
    }
  }
}

TEST(ChunkOfRank, SendsContributionsAloneAndToTheRootOneSum) {
  for (const auto name : {"ring", "direct"}) {
    const AlgorithmRow& algorithm = *find_algorithm(name);
    for (const int ranks : {1, 2, 5, 8}) {
      for (const Schedule& schedule :
           testing::build_all(algorithm, ranks, false, false, false, ReductionKind::reduce_scatter))
        EXPECT_EQ(count(schedule, StepKind::send), ranks - 1) << name;
      for (const Schedule& schedule : testing::build_all(algorithm, ranks, false, false, false,
                                                         ReductionKind::reduce, ranks - 1))
        EXPECT_EQ(count(schedule, StepKind::send), ranks - (schedule.rank == ranks - 1 ? 1 : 0))
            << name;
    }
  }
}

/// The ranks' sends, as (sender, receiver, sequence): what they send, and how many contributions it
/// holds.
using Sends = std::map<std::tuple<int, int, std::uint32_t>, std::pair<ChunkRange, std::uint32_t>>;

Sends sends_of(const std::vector<Schedule>& schedules) {
  Sends sends;
  for (const Schedule& schedule : schedules)
    for (const Step& step : schedule.steps)
      if (step.kind == StepKind::send) {
        const Slot& slot = schedule.slots[schedule.sources_of(step).front()];
        sends[{schedule.rank, step.peer, step.sequence_id}] = {slot.chunks, slot.contributions};
      }
  return sends;
}

/// Takes a message out, which must be what the receiver's slot expects.
void expect_sent(Sends& sends, const Sends::key_type& message, const Slot& slot) {
  const auto sent = sends.extract(message);
  ASSERT_FALSE(sent.empty()) << "nobody sends what is received";
  EXPECT_EQ(sent.mapped(), (std::pair{slot.chunks, slot.contributions}));
}

// Of an allgather: each rank encodes its own chunk alone, and every rank gets all chunks as their
// owners encoded them.
TEST(ChunkOfRank, IsBroughtByItsRankAlone) {
  for (const AlgorithmRow& algorithm : algorithm_table()) {
    if (!algorithm.chunk_of_rank) continue;
    for (int ranks = 1; ranks <= 19; ++ranks) {
      SCOPED_TRACE(std::string(algorithm.name) + ", " + std::to_string(ranks) + " ranks");
      const auto schedules =
          testing::build_all(algorithm, ranks, false, false, false, ReductionKind::allgather);
      Sends left = sends_of(schedules);
      for (const Schedule& schedule : schedules) {
        EXPECT_EQ(count(schedule, StepKind::send), ranks - 1);
        EXPECT_EQ(count(schedule, StepKind::merge), 0);
        std::set<std::uint32_t> decoded;
        for (const Step& step : schedule.steps) {
          const Slot& slot = schedule.slots[schedule.slot_of(step)];
          EXPECT_EQ(slot.contributions, 1u);
          EXPECT_EQ(slot.chunks.count, 1u);
          if (step.kind == StepKind::encode)
            EXPECT_EQ(slot.chunks.first, std::uint32_t(schedule.rank));
          else if (step.kind == StepKind::receive)
            expect_sent(left, {step.peer, schedule.rank, step.sequence_id}, slot);
          else if (step.kind == StepKind::decode)
            EXPECT_TRUE(decoded.insert(slot.chunks.first).second);
        }
        EXPECT_EQ(decoded.size(), std::size_t(ranks));
      }
      EXPECT_TRUE(left.empty()) << "messages that nobody receives";
    }
  }
}

TEST(AlgorithmTable, FindsEveryRowByItsName) {
  std::set<std::string_view> names;
  for (const AlgorithmRow& row : algorithm_table()) {
    EXPECT_EQ(find_algorithm(row.name), &row);
    EXPECT_FALSE(row.summary.empty());
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " is there twice";
  }
  EXPECT_EQ(find_algorithm("rings"), nullptr);
  EXPECT_EQ(find_algorithm(""), nullptr);
}

TEST(MessageCounts, RingAndDirectSendTwiceToEveryOtherRank) {
  for (const auto name : {"ring", "direct"}) {
    for (const int ranks : {1, 2, 3, 8, 13}) {
      for (int rank = 0; rank < ranks; ++rank) {
        const Schedule schedule = build(name, rank, ranks);
        EXPECT_EQ(count(schedule, StepKind::send), 2 * (ranks - 1));
        EXPECT_EQ(count(schedule, StepKind::receive), 2 * (ranks - 1));
      }
    }
  }
}

TEST(MessageCounts, RecursiveDoublingSendsOnceARound) {
  for (const int ranks : {1, 2, 4, 8, 16, 32, 64}) {
    const int rounds = std::countr_zero(static_cast<unsigned>(ranks));
    for (int rank = 0; rank < ranks; ++rank)
      EXPECT_EQ(count(build("recursive_doubling", rank, ranks), StepKind::send), rounds);
  }
}

TEST(MessageCounts, RecursiveDoublingFoldsTheRanksAboveAPowerOfTwo) {
  // 6 ranks: the pairs (0,1) and (2,3), ranks 4 and 5 alone: four members, two rounds.
  const int sends[] = {3, 1, 3, 1, 2, 2};
  for (int rank = 0; rank < 6; ++rank)
    EXPECT_EQ(count(build("recursive_doubling", rank, 6), StepKind::send), sends[rank]);
}

TEST(MessageCounts, TreeSendsOnceUpAndOnceDownEveryEdge) {
  for (const int ranks : {1, 2, 5, 8, 33}) {
    int sends = 0;
    for (int rank = 0; rank < ranks; ++rank)
      sends += count(build("tree", rank, ranks), StepKind::send);
    EXPECT_EQ(sends, 2 * (ranks - 1));
  }
}

TEST(Direct, TheOwnerMergesOnceInRankOrder) {
  for (const bool narrow : {false, true}) {
    const Schedule schedule = build("direct", 2, 5, narrow);
    ASSERT_EQ(count(schedule, StepKind::merge), 1);
    const Step& merge = *std::ranges::find(schedule.steps, StepKind::merge, &Step::kind);
    std::vector<int> ranks;
    for (const auto source : schedule.sources_of(merge)) {
      EXPECT_EQ(schedule.slots[source].form, narrow ? Form::narrow : Form::wide);
      const Step& writer = *std::ranges::find(schedule.steps, source, &Step::result);
      ranks.push_back(writer.kind == StepKind::encode ? 2 : writer.peer);
    }
    EXPECT_EQ(ranks, (std::vector{0, 1, 2, 3, 4}));
  }
}

TEST(Direct, DisjointContributionsGoToEveryRankOnceAndNothingComesBack) {
  for (const Schedule& schedule : testing::build_all(*find_algorithm("direct"), 5, true, true)) {
    EXPECT_EQ(schedule.chunks, 1u);
    EXPECT_EQ(count(schedule, StepKind::send), 4);
    EXPECT_EQ(count(schedule, StepKind::encode), 1);
    EXPECT_EQ(count(schedule, StepKind::merge), 1);
    for (const Step& step : schedule.steps)
      if (step.kind == StepKind::send) {
        EXPECT_EQ(schedule.slots[schedule.sources_of(step).front()].form, Form::narrow);
      }
  }
}

TEST(Direct, OneRankPromotesItsNarrowContribution) {
  EXPECT_EQ(count(build("direct", 0, 1, true), StepKind::merge), 1);
  EXPECT_EQ(count(build("direct", 0, 1, false), StepKind::merge), 0);
}

TEST(MixedRadix, SendsAMessageToEachOtherRankOfARowOfEachLevel) {
  struct Expected {
    std::string_view name;
    int ranks, sends;
  };
  for (const Expected& expected : {Expected{"recursive_halving", 64, 2 * 6},
                                   {"grid", 64, 2 * (7 + 7)},
                                   {"grid", 16, 2 * 6},
                                   {"recursive_halving", 1024, 2 * 10},
                                   {"grid", 1024, 2 * (31 + 31)}})
    for (const int rank : {0, 1, expected.ranks - 1})
      EXPECT_EQ(count(build(expected.name, rank, expected.ranks), StepKind::send), expected.sends)
          << expected.name << " " << expected.ranks;
}

std::vector<Schedule> build_on_nodes(std::span<const std::uint32_t> nodes, bool narrow,
                                     std::span<const std::uint32_t> switches = {}) {
  std::vector<Schedule> schedules;
  const int ranks = static_cast<int>(nodes.size());
  for (int rank = 0; rank < ranks; ++rank)
    schedules.push_back(find_algorithm("mixed_radix")
                            ->build({.rank = rank,
                                     .ranks = ranks,
                                     .narrow = narrow,
                                     .promotes_some = narrow,
                                     .grows = narrow,
                                     .nodes = nodes,
                                     .switches = switches}));
  return schedules;
}

/// Only where contributions have a narrow form: wide ones could not be told from sums.
TEST(MixedRadix, PartialSumsHaveRoomForWhatTheyHold) {
  for (const AlgorithmRow& algorithm : algorithm_table())
    for (const bool grows : {false, true})
      for (const bool narrow : {false, true}) {
        const bool partial_sums = algorithm.name == "grid" || algorithm.name == "mixed_radix" ||
                                  algorithm.name == "recursive_halving";
        std::set<std::uint32_t> rooms;
        for (const Slot& slot : algorithm
                                    .build({.rank = 5,
                           .ranks = 36,
                           .narrow = narrow,
                           .promotes_some = narrow,
                           .grows = grows})
                                    .slots) {
          if (slot.form == Form::narrow) continue;
          const bool grown = partial_sums && grows && narrow;
          EXPECT_EQ(slot.room, grown ? slot.contributions : 36) << algorithm.name;
          rooms.insert(slot.room);
        }
        const std::size_t expected = !partial_sums || !grows || !narrow      ? 1
                                     : algorithm.name == "recursive_halving" ? 7
                                                                             : 2;
        EXPECT_EQ(rooms.size(), expected) << algorithm.name << " " << grows << narrow;
      }
}

TEST(MixedRadix, IsCorrectHoweverRanksAreOnNodes) {
  std::vector<std::vector<std::uint32_t>> all{
      {0, 0, 0, 0, 1, 1, 1, 1},           // blocks
      {0, 1, 2, 0, 1, 2, 0, 1, 2},        // dealt in turn
      {0, 0, 0, 0, 0, 0, 0, 0, 1},        // one rank alone among eight
      {0, 1, 1, 2, 2, 2, 3, 3, 3, 3},     // all different
      {0, 1, 0, 0, 2, 1, 3, 0, 2, 4, 0},  // in any order
      {0, 0, 0},                          // one node
      {0, 1, 2}};                         // nobody shares one
  std::vector<std::uint32_t> many;        // 20 nodes: rows of 4 of them
  for (std::uint32_t rank = 0; rank < 50; ++rank) many.push_back(rank * 7 % 50 * 20 / 50);
  all.push_back(many);
  for (const auto& nodes : all)
    for (const bool narrow : {false, true})
      EXPECT_EQ(testing::check_schedules(build_on_nodes(nodes, narrow), 2),
                std::vector<std::string>{})
          << nodes.size() << " ranks";
}

TEST(MixedRadix, LetsEachSumLeaveANodeOnce) {
  const std::vector<std::uint32_t> nodes{0, 0, 1, 1, 2, 2, 3, 3};
  for (const Schedule& schedule : build_on_nodes(nodes, true)) {
    std::uint32_t chunks_to_others = 0;
    for (const Step& step : schedule.steps)
      if (step.kind == StepKind::send &&
          nodes[std::size_t(step.peer)] != nodes[std::size_t(schedule.rank)])
        chunks_to_others += schedule.chunks_of(step).count;
    // 3 of the 4 chunks of its column, and its own to 3 ranks.
    EXPECT_EQ(chunks_to_others, 6u);
  }
}

struct Placement {
  std::vector<std::uint32_t> nodes, switches;  ///< by rank
};

/// A switch for each node, by its number.
Placement placement(std::vector<std::uint32_t> nodes, std::span<const std::uint32_t> of_node) {
  Placement made{std::move(nodes), {}};
  for (const std::uint32_t node : made.nodes) made.switches.push_back(of_node[node]);
  return made;
}

TEST(MixedRadix, IsCorrectHoweverNodesAreAtSwitches) {
  const std::vector<std::uint32_t> alone{0, 1, 2, 3, 4, 5, 6};
  const std::vector<std::uint32_t> pairs{0, 0, 1, 1, 2, 2, 3, 3};
  const std::vector<std::uint32_t> dealt{0, 1, 2, 3, 0, 1, 2, 3, 0};
  const std::vector<std::uint32_t> ragged{0, 1, 0, 2, 2, 2, 3, 4, 0, 4};
  using Switches = std::vector<std::uint32_t>;
  std::vector<Placement> all{placement(alone, Switches{0, 0, 0, 1, 1, 1, 1}),
                             placement(alone, Switches{0, 1, 0, 1, 0, 1, 2}),
                             placement(alone, Switches{0, 1, 1, 1, 1, 1, 1}),
                             placement(alone, Switches{0, 0, 0, 0, 0, 0, 0}),
                             placement(pairs, Switches{0, 0, 1, 1}),
                             placement(pairs, Switches{0, 1, 1, 0}),
                             placement(dealt, Switches{0, 0, 1, 1}),
                             placement(dealt, Switches{0, 1, 2, 3}),
                             placement(ragged, Switches{0, 1, 1, 0, 2}),
                             placement({0, 0, 0}, Switches{0})};
  std::vector<std::uint32_t> nodes, at_few, at_many;  // 38 nodes of one to two ranks: rows of six
  for (std::uint32_t rank = 0; rank < 57; ++rank) nodes.push_back(rank * 2 / 3);
  for (std::uint32_t node = 0; node < 38; ++node) {
    at_few.push_back(node % 3 / 2);
    at_many.push_back(node / 2);
  }
  all.push_back(placement(nodes, at_few));
  all.push_back(placement(nodes, at_many));
  for (const Placement& placed : all)
    for (const bool narrow : {false, true})
      EXPECT_EQ(testing::check_schedules(build_on_nodes(placed.nodes, narrow, placed.switches), 2),
                std::vector<std::string>{})
          << ::testing::PrintToString(placed.switches);
}

/// Of many nodes, too: rows are of neighbours, whatever their numbers are.
TEST(MixedRadix, HasNodesOfASwitchInARow) {
  std::vector<std::uint32_t> nodes, switches;
  for (std::uint32_t rank = 0; rank < 64; ++rank) {
    nodes.push_back(rank);
    switches.push_back(rank % 8);
  }
  for (const Schedule& schedule : build_on_nodes(nodes, true, switches))
    for (const Step& step : schedule.steps)
      if (step.kind == StepKind::send) {
        const bool is_near =
            switches[std::size_t(step.peer)] == switches[std::size_t(schedule.rank)];
        const std::uint32_t chunks = schedule.chunks_of(step).count;
        EXPECT_EQ(chunks, is_near ? 8u : 1u) << schedule.rank << " to " << step.peer;
      }
}

TEST(MixedRadix, LetsEachSumLeaveASwitchOnce) {
  const Placement placed =
      placement({0, 0, 1, 1, 2, 2, 3, 3}, std::vector<std::uint32_t>{0, 0, 1, 1});
  for (const bool known : {false, true}) {
    std::uint32_t chunks_to_others = 0;
    for (const Schedule& schedule :
         build_on_nodes(placed.nodes, true,
                        known ? std::span<const std::uint32_t>(placed.switches)
                              : std::span<const std::uint32_t>()))
      for (const Step& step : schedule.steps)
        if (step.kind == StepKind::send &&
            placed.switches[std::size_t(step.peer)] != placed.switches[std::size_t(schedule.rank)])
          chunks_to_others += schedule.chunks_of(step).count;
    // Each of the 8 chunks goes over once and comes back once; else from both nodes of a switch,
    // to both.
    EXPECT_EQ(chunks_to_others, known ? 16u : 32u);
  }
}

TEST(MixedRadix, TakesNumbersOfRanksThatAreNoProducts) {
  // 7 ranks in rows of 2: nobody is beside rank 6. Its contributions to the chunks of the second
  // column go to that of another row.
  const Schedule last = build("recursive_halving", 6, 7);
  const Step& guest = *std::ranges::find(last.steps, StepKind::send, &Step::kind);
  EXPECT_EQ(guest.peer % 2, 1);
  EXPECT_EQ(last.slots[last.sources_of(guest)[0]].chunks, ChunkRange(4, 3));
}

TEST(MixedRadix, IsRightForSampledChunksOfThousandsOfRanks) {
  for (const auto name : {"recursive_halving", "grid"}) {
    for (const int ranks : {127, 1024, 8191}) {
      if (ranks > 1000 && test::sanitized) continue;
      const auto n = static_cast<std::uint32_t>(ranks);
      const std::uint32_t chunks[] = {n / 3, n - 1};
      EXPECT_EQ(testing::check_chunks(*find_algorithm(name), ranks, chunks),
                std::vector<std::string>{})
          << name << " " << ranks;
    }
  }
}

/// The kinds of the steps that wrote the sources of each merge.
std::vector<std::vector<StepKind>> merge_operands(const Schedule& schedule) {
  std::vector<std::vector<StepKind>> operands;
  for (const Step& step : schedule.steps) {
    if (step.kind != StepKind::merge) continue;
    operands.emplace_back();
    for (const auto source : schedule.sources_of(step))
      operands.back().push_back(std::ranges::find(schedule.steps, source, &Step::result)->kind);
  }
  return operands;
}

TEST(Ring, MergesTheOwnContributionBehindWhatArrived) {
  const std::vector operands{StepKind::receive, StepKind::encode};
  EXPECT_EQ(merge_operands(build("ring", 1, 4)), std::vector(3, operands));
}

TEST(Tree, MergesTheSubtreesOfHigherRanksBehindTheOwn) {
  const std::vector first{StepKind::encode, StepKind::receive};
  const std::vector later{StepKind::merge, StepKind::receive};
  EXPECT_EQ(merge_operands(build("tree", 0, 8)), (std::vector{first, later, later}));
  EXPECT_EQ(merge_operands(build("tree", 4, 8)), (std::vector{first, later}));
}

TEST(Ring, SequenceIdsStaySmallWithManyRanks) {
  EXPECT_EQ(testing::check_rules(build("ring", 17, 4096)), std::vector<std::string>{});
}

TEST(ToString, WritesOneLineAStep) {
  EXPECT_EQ(to_string(build("ring", 0, 2)),
            "rank 0 of 2: 2 chunks, 5 buffers\n"
            "0: encode  slot 0 (chunk 1, wide, 1 of 2, buffer 0)\n"
            "1: send    slot 0 to rank 1 sequence 0\n"
            "2: receive slot 1 (chunk 0, wide, 1 of 2, buffer 1) from rank 1 sequence 0\n"
            "3: encode  slot 2 (chunk 0, wide, 1 of 2, buffer 2)\n"
            "4: merge   slot 3 (chunk 0, wide, 2 of 2, buffer 3) := slot 1 + 2\n"
            "5: send    slot 3 to rank 1 sequence 1\n"
            "6: receive slot 4 (chunk 1, wide, 2 of 2, buffer 4) from rank 1 sequence 1\n"
            "7: decode  slot 3\n"
            "8: decode  slot 4\n");
}

}  // namespace
}  // namespace cohom
