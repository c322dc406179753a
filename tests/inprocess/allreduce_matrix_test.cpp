// The invariants of an allreduce over every codec, algorithm, element type and number of ranks.
//
// Plans are used because a plan counts its own steps: two plans of one codec draw the same random
// numbers in their first call, whatever was called before, and must give the same bits.

#include "codec_specs.hpp"
#include "elements.hpp"
#include "guarded_buffer.hpp"
#include "loopback_ranks.hpp"
#include "rank_inputs.hpp"
#include "same_bytes.hpp"
#include "schedule/algorithms/algorithm.hpp"
#include "thoroughness.hpp"

#include <cohom/plan.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace cohom::test {
namespace {

struct Case {
  CodecSpec codec;
  std::string_view algorithm;
  const RankInputs* inputs = nullptr;
  std::size_t segment = 0;
  bool mean_in_place = false;

  [[nodiscard]] ElementType type() const { return inputs->type(); }
  [[nodiscard]] std::string name() const {
    return std::string(codec.spec) + " " + std::string(algorithm) + " " + inputs->name();
  }
  [[nodiscard]] AllreducePlan plan(Communicator& communicator, ReduceOp op) const {
    return {communicator,
            inputs->count(),
            type(),
            {.codec = std::string(codec.spec),
             .algorithm = std::string(algorithm),
             .op = op,
             .segment = segment}};
  }
};

/// What a rank's results hash to.
struct Hashes {
  std::size_t sum = 0;
  std::size_t mean = 0;
  friend bool operator==(const Hashes&, const Hashes&) = default;
};

/// The buffers are aligned to no more than their elements.
Bytes out_of_place(AllreducePlan& plan, const Bytes& input, std::size_t element) {
  GuardedBuffer source(input.size(), element);
  GuardedBuffer target(input.size(), 3 * element);
  source.fill(input);
  plan.execute(source.data(), target.data());
  EXPECT_TRUE(same_bytes(source.bytes(), input)) << "the input was written";
  EXPECT_TRUE(source.fences_intact());
  EXPECT_TRUE(target.fences_intact()) << "written outside the output";
  return {target.bytes().begin(), target.bytes().end()};
}

Bytes in_place(AllreducePlan& plan, const Bytes& input, std::size_t misalignment) {
  GuardedBuffer buffer(input.size(), misalignment);
  buffer.fill(input);
  plan.execute(buffer.data(), buffer.data());
  EXPECT_TRUE(buffer.fences_intact()) << "written outside the buffer";
  return {buffer.bytes().begin(), buffer.bytes().end()};
}

/// The mean is the sum divided once. Compressed 16-bit results are rounded from a wider sum that
/// nobody sees, and so are sketches of integers and exact sums, so there the quotient of the
/// rounded sum may be one rounding away.
void expect_mean(const Case& c, const Bytes& sum, const Bytes& mean, int ranks) {
  const ElementType type = c.type();
  auto quotients = to_values(type, sum);
  for (double& value : quotients)
    value = type == ElementType::f64 ? value / ranks : double(float(value) / float(ranks));
  const bool divides_wider =
      size_of(type) == 2 || c.codec.spec.starts_with("sketch") || c.codec.rounds_once;
  const bool adds_elements =
      !c.codec.rounds_once && adds_floats(c.codec.spec, c.type()) && c.codec.error(ranks) == 0;
  if (!divides_wider || adds_elements) {
    EXPECT_TRUE(same_bytes(mean, to_bytes(type, quotients))) << "the mean is not sum / ranks";
    return;
  }
  const auto means = to_values(type, mean);
  constexpr double min_normal = 0x1p-14;  // of f16; below, steps do not shrink any more
  for (std::size_t i = 0; i < means.size(); ++i)
    ASSERT_NEAR(means[i], quotients[i],
                2 * unit_roundoff(type) * std::max(std::abs(quotients[i]), min_normal))
        << "element " << i;
}

Hashes run(const Case& c, int rank, Communicator& communicator) {
  SCOPED_TRACE(c.name() + " rank " + std::to_string(rank));
  const Bytes& input = c.inputs->bytes(rank);
  const std::size_t element = size_of(c.type());
  const int ranks = communicator.ranks();

  AllreducePlan sum_plan = c.plan(communicator, ReduceOp::sum);
  const Bytes sum = out_of_place(sum_plan, input, element);
  EXPECT_LE(c.inputs->error_of(sum), c.codec.error(ranks) * c.inputs->slack());
  sum_plan.reset_state();  // back to step 0: the same draws
  EXPECT_TRUE(same_bytes(in_place(sum_plan, input, 0), sum)) << "in place differs";

  AllreducePlan mean_plan = c.plan(communicator, ReduceOp::mean);
  const Bytes mean =
      c.mean_in_place ? in_place(mean_plan, input, element) : out_of_place(mean_plan, input, 0);
  expect_mean(c, sum, mean, ranks);
  return {hash_of(sum), hash_of(mean)};
}

void expect_agreement(std::span<const Case> cases,
                      const std::vector<std::vector<Hashes>>& hashes_of_rank) {
  for (std::size_t i = 0; i < cases.size(); ++i) {
    for (const auto& hashes : hashes_of_rank)
      EXPECT_EQ(hashes[i], hashes_of_rank[0][i]) << cases[i].name() << ": ranks differ";
    // Cases of one codec and input follow each other, algorithm by algorithm.
    const bool same_problem = i > 0 && cases[i].codec.spec == cases[i - 1].codec.spec &&
                              cases[i].inputs == cases[i - 1].inputs;
    if (same_problem && !adds_floats(cases[i].codec.spec, cases[i].type())) {
      EXPECT_EQ(hashes_of_rank[0][i], hashes_of_rank[0][i - 1])
          << cases[i].name() << " differs from " << cases[i - 1].algorithm;
    }
  }
}

/// Nodes of 1, 2, 3, ... ranks.
std::vector<std::uint64_t> ragged_nodes(int ranks) {
  std::vector<std::uint64_t> nodes;
  for (std::uint64_t node = 0; nodes.size() < std::size_t(ranks); ++node)
    nodes.insert(nodes.end(), std::min(node + 1, std::size_t(ranks) - nodes.size()), node);
  return nodes;
}

void run_all(std::span<const Case> cases, int ranks) {
  std::vector<std::vector<Hashes>> hashes_of_rank(std::size_t(ranks),
                                                  std::vector<Hashes>(cases.size()));
  const LoopbackOptions options{.nodes = ragged_nodes(ranks), .node_windows = true};
  on_ranks(ranks, options, [&](int rank, Communicator& communicator) {
    for (std::size_t i = 0; i < cases.size(); ++i)
      hashes_of_rank[std::size_t(rank)][i] = run(cases[i], rank, communicator);
  });
  expect_agreement(cases, hashes_of_rank);
}

void add_cases(std::vector<Case>& cases, const CodecSpec& codec, const RankInputs& inputs,
               std::size_t segment) {
  for (const AlgorithmRow& algorithm : algorithms_for(codec.spec))
    cases.push_back({codec, algorithm.name, &inputs, segment, cases.size() % 2 == 1});
}

class AllreduceMatrix : public testing::TestWithParam<std::tuple<int, ElementType>> {};

/// Every codec meets every algorithm, with a few thousand elements in several segments, and with
/// one of the sizes at the edges: which one changes with codec, type and ranks, so that all pairs
/// occur. So do all pairs of codec, type and ranks.
TEST_P(AllreduceMatrix, HoldsTheInvariants) {
  const auto [ranks, type] = GetParam();
  std::vector<RankInputs> edges;
  for (std::size_t count : {0, 1, 255, 257}) edges.emplace_back(ranks, type, count);
  const RankInputs thousands(ranks, type, 5003);
  std::vector<Case> cases;
  const PairShare share(races_only ? 7 : 3);
  const std::vector<int> all_ranks = tested_ranks();
  const auto ranks_index = std::ranges::find(all_ranks, ranks) - all_ranks.begin();
  std::size_t index = 0;
  for (const CodecSpec& codec : specs_for(ranks)) {
    ++index;
    if (!share.has(index, ranks_index, type)) continue;
    add_cases(cases, codec, edges[(index + std::size_t(ranks) + std::size_t(type)) % edges.size()],
              0);
    add_cases(cases, codec, thousands, 512);
  }
  run_all(cases, ranks);
}

TEST(AllreduceMatrixLarge, AMillionRaggedElements) {
  const RankInputs inputs(3, ElementType::f32, races_only ? 200003 : 1000003);
  std::vector<Case> cases;
  for (const CodecSpec& codec : specs_for(inputs.ranks()))
    if (codec.spec == "thc" || codec.spec == "packed" || codec.spec == "sparse" ||
        (!races_only &&
         (codec.spec == "raw" || codec.spec == "thc:scale=global" || codec.spec == "sparse+thc")))
      add_cases(cases, codec, inputs, 0);
  run_all(cases, inputs.ranks());
}

INSTANTIATE_TEST_SUITE_P(Ranks, AllreduceMatrix,
                         testing::Combine(testing::ValuesIn(tested_ranks()),
                                          testing::ValuesIn(tested_types())),
                         [](const auto& test) {
                           return std::to_string(std::get<0>(test.param)) + "_" +
                                  std::string(name_of(std::get<1>(test.param)));
                         });

}  // namespace
}  // namespace cohom::test
