// COHOM_TOPOLOGY: what it means, and what is said of what means nothing.

#include "topology/given_topology.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

using Numbers = std::vector<std::uint32_t>;

std::string refusal(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument) << error.what();
    return error.what();
  }
  return "no error";
}

std::string refusal_of(const std::string& text) {
  return refusal([&] { (void)parse_topology(text); });
}

class GivenTopologyTest : public ::testing::Test {
 protected:
  GivenTopologyTest() { unsetenv("COHOM_TOPOLOGY"); }
  ~GivenTopologyTest() override { unsetenv("COHOM_TOPOLOGY"); }
};

TEST_F(GivenTopologyTest, HasNodesOfEqualOrDifferentSizes) {
  EXPECT_EQ(parse_topology("nodes=2x3").node_of_rank, (Numbers{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(parse_topology("nodes=2,2,1").node_of_rank, (Numbers{0, 0, 1, 1, 2}));
  EXPECT_EQ(parse_topology("nodes=1,2x2,1").node_of_rank, (Numbers{0, 1, 1, 2, 2, 3}));
  EXPECT_EQ(parse_topology("nodes=1").node_of_rank, (Numbers{0}));
  EXPECT_TRUE(parse_topology("nodes=2x3").switch_of_node.empty());
}

TEST_F(GivenTopologyTest, DealsRanksInTurn) {
  EXPECT_EQ(parse_topology("nodes=2x3:order=cyclic").node_of_rank, (Numbers{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(parse_topology("order=cyclic:nodes=1,3,2").node_of_rank, (Numbers{0, 1, 2, 1, 2, 1}));
  EXPECT_EQ(parse_topology("nodes=1,2:order=block").node_of_rank, (Numbers{0, 1, 1}));
}

TEST_F(GivenTopologyTest, HasSwitchesOfNodes) {
  EXPECT_EQ(parse_topology("nodes=4x1:switches=2x2").switch_of_node, (Numbers{0, 0, 1, 1}));
  EXPECT_EQ(parse_topology("switches=1,2:nodes=3x2").switch_of_node, (Numbers{0, 1, 1}));
}

TEST_F(GivenTopologyTest, SaysWhatIsWrongAndWhatWouldBeRight) {
  EXPECT_EQ(refusal_of("nodes=4;4"),
            "COHOM_TOPOLOGY=nodes=4;4: \"4;4\" among the nodes is neither a size nor COUNTxSIZE; "
            "right would be, for example, nodes=8x4 (8 nodes of 4 ranks), nodes=4,4,1 or "
            "nodes=8x4:switches=2x4:order=cyclic");
  const auto says = [](const std::string& text, const std::string& why) {
    EXPECT_NE(refusal_of(text).find(why), std::string::npos) << text << ": " << refusal_of(text);
  };
  says("8x4", "\"8x4\" is none of nodes, switches, order");
  says("nodes=", "nodes has no value");
  says("nodes=4:nodes=4", "nodes stands there twice");
  says("switches=2", "it has no nodes");
  for (const char* item :
       {"0", "-1", "x", "4x", "x4", "0x4", "4x0", "4x4x4", " 4", "4.5", "0x", ""})
    says("nodes=2," + std::string(item) + ",2", "is neither a size nor COUNTxSIZE");
  says("nodes=4,", "is neither a size nor COUNTxSIZE");
  says("nodes=1048577", "its nodes have more than 1048576 members");
  says("nodes=4294967295x4294967295", "its nodes have more than 1048576 members");
  says("nodes=3:", "\"\" is none of nodes, switches, order");
  says("nodes=4294967297", "is neither a size nor COUNTxSIZE");
  says("nodes=1024x1025", "its nodes have more than 1048576 members");
  says("nodes=4x1:switches=3", "its switches have 3 nodes, and there are 4");
  says("nodes=4:order=cycle", "the order is neither block nor cyclic");
  says("nodes=" + std::string(5000, '4'), "it is longer than 4096 characters");
  EXPECT_NE(refusal_of("nodes=4\x1b[2J").find("nodes=4?[2J"), std::string::npos);
}

// Of a node with all ranks but a few, whose turns must not be looked for among the others.
TEST_F(GivenTopologyTest, DealsManyRanksQuickly) {
  EXPECT_EQ(parse_topology("nodes=524288,524288x1:order=cyclic").node_of_rank.size(), 1048576u);
}

TEST_F(GivenTopologyTest, IsForAsManyRanksAsTheJobHas) {
  EXPECT_EQ(topology_of_environment({.rank = 0, .ranks = 7}), "");
  setenv("COHOM_TOPOLOGY", "nodes=2x4", 1);
  EXPECT_EQ(topology_of_environment({.rank = 3, .ranks = 8}), "nodes=2x4");
  const auto why = refusal([] { (void)topology_of_environment({.rank = 0, .ranks = 7}); });
  EXPECT_NE(why.find("COHOM_TOPOLOGY=nodes=2x4: its nodes have 8 ranks, and this job has 7"),
            std::string::npos)
      << why;
}

}  // namespace
}  // namespace cohom::test
