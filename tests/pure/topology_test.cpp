// Where ranks are, of what they tell each other.

#include "topology/node_identity.hpp"
#include "topology/slurm_switch.hpp"
#include "topology/topology_of.hpp"

#include <cohom/error.hpp>
#include <cohom/topology.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

using Numbers = std::vector<std::uint32_t>;
constexpr std::uint32_t none = RankGroups::none;

ThreadSet threads(std::initializer_list<std::uint32_t> numbers) {
  ThreadSet set;
  for (const std::uint32_t number : numbers) set.add(number);
  return set;
}

/// Ranks of a whole job on these nodes.
std::vector<RankPlace> on_nodes(const std::vector<std::uint64_t>& nodes) {
  std::vector<RankPlace> places;
  for (const std::uint64_t node : nodes)
    places.push_back(
        {.node = node,
         .numa_domain = Core::unknown,
         .job = {.rank = std::uint32_t(places.size()), .ranks = std::uint32_t(nodes.size())}});
  return places;
}

/// Two domains of two cores with two hardware threads each: core 0 has threads 0 and 4, ...
Machine small_machine() {
  Machine machine{.source = "a test", .by_hwloc = true, .packages = 1};
  for (std::uint32_t core = 0; core < 4; ++core)
    machine.cores.push_back({.number = core,
                             .package = 0,
                             .numa_domain = core / 2,
                             .threads = threads({core, core + 4})});
  return machine;
}

Topology of(const std::vector<RankPlace>& places, std::size_t rank = 0) {
  return topology_of(places, rank, small_machine());
}

std::string error_of(ErrorKind kind, const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return "no error";
}

TEST(TopologyTest, NumbersNodesByTheirLowestRanks) {
  const Topology topology = of(on_nodes({77, 77, 5, 77, 5, 1}));
  EXPECT_EQ(topology.nodes.of_rank, (Numbers{0, 0, 1, 0, 1, 2}));
  EXPECT_EQ(topology.nodes.count, 3u);
  EXPECT_EQ(topology.nodes.ranks_of(0), (std::vector<int>{0, 1, 3}));
  EXPECT_EQ(topology.nodes.ranks_of(2), (std::vector<int>{5}));
  EXPECT_FALSE(topology.switches.known());
  EXPECT_FALSE(topology.numa_domains.known());
}

TEST(TopologyTest, KnowsRanksThatAreDealtInTurn) {
  EXPECT_EQ(of(on_nodes({9, 8, 7, 9, 8, 7, 9})).nodes.of_rank, (Numbers{0, 1, 2, 0, 1, 2, 0}));
}

TEST(TopologyTest, KnowsOneRank) {
  const Topology topology = of(on_nodes({42}));
  EXPECT_EQ(topology.nodes.of_rank, Numbers{0});
  EXPECT_EQ(topology.nodes.count, 1u);
  EXPECT_EQ(summary(topology), "1 rank on 1 node, switches not known");
}

TEST(TopologyTest, GivesStrangersANodeEach) {
  const Topology topology = topology_of_strangers(3);
  EXPECT_EQ(topology.nodes.of_rank, (Numbers{0, 1, 2}));
  EXPECT_EQ(topology.nodes.count, 3u);
  EXPECT_TRUE(topology.cores.empty());
}

TEST(TopologyTest, TellsNumaDomainsOfDifferentNodesApart) {
  auto places = on_nodes({1, 1, 2, 2, 2});
  for (const std::size_t r : {0u, 1u, 2u, 3u}) places[r].numa_domain = r == 1 ? 1 : 0;
  EXPECT_EQ(of(places).numa_domains.of_rank, (Numbers{0, 1, 2, 2, none}));
  EXPECT_EQ(of(places).numa_domains.count, 3u);
}

TEST(TopologyTest, KnowsSwitchesWhereAllRanksHaveOne) {
  auto places = on_nodes({1, 1, 2, 3});
  for (auto& place : places) place.network_switch = place.node == 3 ? 500 : 600;
  EXPECT_EQ(of(places).switches.of_rank, (Numbers{0, 0, 0, 1}));
  EXPECT_EQ(summary(of(places)), "4 ranks on 3 nodes, 2 switches");
  places[3].network_switch = 0;
  EXPECT_FALSE(of(places).switches.known());
}

TEST(TopologyTest, BelievesNoNodeAtTwoSwitches) {
  auto places = on_nodes({1, 1, 2});
  for (auto& place : places) place.network_switch = 600;
  places[1].network_switch = 500;
  EXPECT_FALSE(of(places).switches.known());
}

/// Of the cores of a rank: "0 1!" where it may run on cores 0 and 1, and 1 is its alone.
std::string cores_of(const std::vector<RankPlace>& places, std::size_t rank) {
  std::string text;
  for (const UsableCore& core : of(places, rank).cores)
    text += (text.empty() ? "" : " ") + std::to_string(core.number) + (core.alone ? "!" : "");
  return text;
}

TEST(TopologyTest, KnowsWhoseCoresAreWhose) {
  auto places = on_nodes({1, 1, 2});
  places[0].threads = threads({0, 1, 2});
  places[1].threads = threads({5, 3, 7});
  places[2].threads = threads({0, 1, 2, 3, 4, 5, 6, 7});
  // Thread 5 is of core 1.
  EXPECT_EQ(cores_of(places, 0), "0! 1 2!");
  EXPECT_EQ(cores_of(places, 1), "1 3!");
  EXPECT_EQ(cores_of(places, 2), "0! 1! 2! 3!");
  const auto cores = of(places, 1).cores;
  EXPECT_EQ(cores[1].threads, (Numbers{3, 7}));
  EXPECT_EQ(cores[0].threads, (Numbers{5}));
  EXPECT_EQ(cores[1].numa_domain, 1u);
  // One that does not know may be anywhere.
  places[1].threads = {};
  EXPECT_EQ(cores_of(places, 0), "0 1 2");
}

std::vector<RankPlace> given(std::vector<RankPlace> places, const std::string& text) {
  for (auto& place : places) place.given = text;
  return places;
}

TEST(TopologyTest, IsAsGiven) {
  auto places = given(on_nodes({1, 1, 1, 1}), "nodes=3,1:switches=2");
  for (auto& place : places) {
    place.threads = threads({0});
    place.numa_domain = 0;
    place.network_switch = 600 + place.job.rank;
  }
  const Topology topology = of(places, 3);
  EXPECT_EQ(topology.nodes.of_rank, (Numbers{0, 0, 0, 1}));
  EXPECT_EQ(topology.switches.of_rank, (Numbers{0, 0, 0, 0}));
  EXPECT_EQ(topology.numa_domains.of_rank, (Numbers{0, 0, 0, 1}));
  // Other ranks are on its core all the same.
  ASSERT_EQ(topology.cores.size(), 1u);
  EXPECT_FALSE(topology.cores[0].alone);
  EXPECT_FALSE(of(given(places, "nodes=4")).switches.known());
}

// A part of the job, in another order: ranks 5, 4 and 1 of it.
TEST(TopologyTest, IsGivenForTheRanksOfTheJob) {
  auto places = given(on_nodes({1, 1, 1}), "nodes=3x2");
  places[0].job = {.rank = 5, .ranks = 6};
  places[1].job = {.rank = 4, .ranks = 6};
  places[2].job = {.rank = 1, .ranks = 6};
  EXPECT_EQ(of(places).nodes.of_rank, (Numbers{0, 0, 1}));
  places[1].job.rank = 6;
  EXPECT_EQ(error_of(ErrorKind::transport, [&] { of(places); }),
            "rank 1 says that it is rank 6 of a job of 6 ranks");
}

TEST(TopologyTest, MustBeGivenAlike) {
  auto places = given(on_nodes({1, 1, 1}), "nodes=3");
  places[1].given = "nodes=1,2";
  EXPECT_EQ(error_of(ErrorKind::mismatch, [&] { of(places); }),
            "ranks disagree on COHOM_TOPOLOGY (rank 1: \"nodes=1,2\"; the other 2: \"nodes=3\")");
  places[1].given = "";
  EXPECT_EQ(error_of(ErrorKind::mismatch, [&] { of(places); }),
            "ranks disagree on COHOM_TOPOLOGY (rank 1: \"not set\"; the other 2: \"nodes=3\")");
}

RankPlace full_place() {
  return {.node = 0x1234567890abcdef,
          .network_switch = 99,
          .numa_domain = 3,
          .job = {.rank = 6, .ranks = 7},
          .threads = threads({0, 63, 64, 200}),
          .given = "nodes=7"};
}

TEST(RankPlaceTest, TravelsAsBytes) {
  const RankPlace place = full_place();
  const RankPlace read = rank_place_of(to_bytes(place), 0);
  EXPECT_EQ(read.node, place.node);
  EXPECT_EQ(read.network_switch, place.network_switch);
  EXPECT_EQ(read.numa_domain, place.numa_domain);
  EXPECT_EQ(read.job.rank, place.job.rank);
  EXPECT_EQ(read.job.ranks, place.job.ranks);
  EXPECT_EQ(read.threads, place.threads);
  EXPECT_EQ(read.given, place.given);
  EXPECT_TRUE(rank_place_of(to_bytes({}), 0).threads.empty());
}

TEST(RankPlaceTest, RefusesBytesThatAreNone) {
  const auto bytes = to_bytes(full_place());
  const auto refuses = [](std::span<const std::byte> some, const std::string& why) {
    const std::string text = error_of(ErrorKind::transport, [&] { (void)rank_place_of(some, 4); });
    EXPECT_TRUE(text.starts_with("rank 4 tells where it runs")) << text;
    EXPECT_NE(text.find(why), std::string::npos) << text;
  };
  for (std::size_t size = 0; size < bytes.size(); ++size)
    refuses(std::span(bytes).first(size), "bytes");
  auto longer = bytes;
  longer.push_back({});
  refuses(longer, "bytes, not");
  auto other = bytes;
  other[0] ^= std::byte{1};
  refuses(other, "another form");
  for (const std::size_t length_at : {36u, 40u}) {  // of the words, of the text
    auto huge = bytes;
    for (std::size_t i = 0; i < 4; ++i) huge[length_at + i] = std::byte{0xff};
    refuses(huge, "too long");
  }
}

// Whatever comes is a topology with numbers that are in range, or an error.
TEST(RankPlaceTest, SurvivesAnyBytes) {
  std::mt19937 random(20261201);
  int read = 0;
  for (int round = 0; round < 20000; ++round) {
    auto bytes = to_bytes(full_place());
    for (std::size_t flips = random() % 4; flips-- > 0;)
      bytes[random() % bytes.size()] ^= std::byte(1u << random() % 8);
    try {
      const std::vector<RankPlace> places = {full_place(), rank_place_of(bytes, 1)};
      const Topology topology = of(places);
      ++read;
      for (const std::uint32_t node : topology.nodes.of_rank) EXPECT_LT(node, topology.nodes.count);
      for (const std::uint32_t domain : topology.numa_domains.of_rank)
        EXPECT_TRUE(domain == none || domain < topology.numa_domains.count);
    } catch (const Error&) {
    }
  }
  EXPECT_GT(read, 1000);
}

TEST(NodeIdentityTest, IsOfHostAndBoot) {
  const std::uint64_t one = node_identity("node1", "aaaa");
  EXPECT_EQ(node_identity("node1", "aaaa"), one);
  EXPECT_NE(node_identity("node2", "aaaa"), one);
  EXPECT_NE(node_identity("node1", "bbbb"), one);
  EXPECT_EQ(node_identity(), node_identity());
}

TEST(SlurmSwitchTest, ReadsThePathToANode) {
  EXPECT_EQ(switch_path("core.leaf3.node17", "switch.switch.node", "node17"), "core.leaf3");
  EXPECT_EQ(switch_path("leaf3.node17", "switch.node", ""), "leaf3");
  EXPECT_EQ(switch_path("b1.node17", "block.node", "node17"), "b1");
  EXPECT_EQ(switch_path("leaf3.node17.site.org", "switch.node", "node17.site.org"), "leaf3");
}

TEST(SlurmSwitchTest, KnowsNoneWhereTheVariablesSayNone) {
  EXPECT_EQ(switch_path("node17", "node", "node17"), "");
  EXPECT_EQ(switch_path("", "", ""), "");
  EXPECT_EQ(switch_path("leaf3", "switch.node", ""), "");
  EXPECT_EQ(switch_path(".node17", "switch.node", "node17"), "");
  EXPECT_EQ(switch_path("leaf3.node17", "rack.node", "node17"), "");
  EXPECT_EQ(switch_path("leaf3.node17", "switch.switch", "node17"), "");
  // Another node's, which a launcher has carried here.
  EXPECT_EQ(switch_path("leaf3.node17", "switch.node", "node18"), "");
}

class SlurmVariables : public ::testing::Test {
 protected:
  SlurmVariables() { clear(); }
  ~SlurmVariables() override { clear(); }

  static std::uint64_t number(const char* address, const char* pattern, const char* node) {
    setenv("SLURM_TOPOLOGY_ADDR", address, 1);
    setenv("SLURM_TOPOLOGY_ADDR_PATTERN", pattern, 1);
    setenv("SLURMD_NODENAME", node, 1);
    return slurm_switch();
  }

 private:
  static void clear() {
    for (const char* name :
         {"SLURM_TOPOLOGY_ADDR", "SLURM_TOPOLOGY_ADDR_PATTERN", "SLURMD_NODENAME"})
      unsetenv(name);
  }
};

TEST_F(SlurmVariables, GiveNodesOfOneSwitchOneNumber) {
  EXPECT_EQ(slurm_switch(), 0u);
  const std::uint64_t leaf = number("core.leaf3.n1", "switch.switch.node", "n1");
  EXPECT_NE(leaf, 0u);
  EXPECT_EQ(number("core.leaf3.n2", "switch.switch.node", "n2"), leaf);
  EXPECT_NE(number("core.leaf4.n3", "switch.switch.node", "n3"), leaf);
  EXPECT_NE(number("spine.leaf3.n4", "switch.switch.node", "n4"), leaf);
  EXPECT_EQ(number("core.leaf3.n1", "switch.switch.node", "n5"), 0u);
  EXPECT_EQ(number("n1", "node", "n1"), 0u);
}

}  // namespace
}  // namespace cohom::test
