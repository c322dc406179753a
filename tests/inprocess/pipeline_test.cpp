// How a vector is cut into segments and messages, and how many of them are under way, must not
// change a bit of any result.

#include "call/communicator_impl.hpp"
#include "codec_specs.hpp"
#include "loopback_ranks.hpp"
#include "rank_inputs.hpp"
#include "same_bytes.hpp"
#include "schedule/algorithms/algorithm.hpp"
#include "thoroughness.hpp"

#include <cohom/plan.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

constexpr std::string_view specs[] = {"raw",
                                      "thc",
                                      "thc:scale=global",
                                      "thc:rotation=16,levels=full",
                                      "thc:rotation=1024,lane=12",
                                      "thc:dither=independent",
                                      "packed",
                                      "packed:bits=8,budget=max,dither=nearest",
                                      "packed:rel_error=0.0001,predict=delta",
                                      "packed:error_feedback=on,down_shift=2",
                                      "sparse",
                                      "sparse+thc",
                                      "sketch",
                                      "lowrank:columns=64,error_feedback=on",
                                      "signcount:scale=global",
                                      "marsit"};

struct Case {
  std::string_view spec;
  std::string_view algorithm;
  std::size_t segment;
};

/// All segments of a spec's algorithm behind each other, all algorithms of a spec too.
std::vector<Case> all_cases() {
  std::vector<Case> cases;
  CaseShare share(1, races_only ? 5 : 1);
  for (std::string_view spec : specs)
    for (const AlgorithmRow& algorithm : algorithms_for(spec))
      for (std::size_t segment : {0, 256, 1000, 4096})
        if (!share.skips_this()) cases.push_back({spec, algorithm.name, segment});
  return cases;
}

struct Pipeline {
  std::size_t message_bytes;
  Tuning tuning;
};
const Pipeline pipelines[] = {
    {256 * 1024, {}},
    {4096, {.max_units_sending = 2, .max_units_receiving = 1, .low_sends = 1, .sends_per_peer = 1}},
    {512, {.max_units_sending = 1, .max_units_receiving = 1, .low_sends = 0, .sends_per_peer = 0}},
};

/// The hashes of all cases on one rank; in place every other time.
std::vector<std::size_t> results(Communicator& communicator, const Bytes& input,
                                 const RankInputs& inputs) {
  std::vector<std::size_t> hashes;
  for (const Case& c : all_cases()) {
    AllreducePlan plan(communicator, inputs.count(), inputs.type(),
                       {.codec = std::string(c.spec),
                        .algorithm = std::string(c.algorithm),
                        .segment = c.segment});
    Bytes source = input;
    Bytes target(input.size());
    std::byte* const output = hashes.size() % 2 == 0 ? target.data() : source.data();
    plan.execute(source.data(), output);
    hashes.push_back(hash_of({output, input.size()}));
  }
  return hashes;
}

std::vector<std::vector<std::size_t>> results_of_ranks(const Pipeline& pipeline,
                                                       const RankInputs& inputs) {
  std::vector<std::vector<std::size_t>> hashes(std::size_t(inputs.ranks()));
  const LoopbackOptions options{.preferred_message_bytes = pipeline.message_bytes};
  on_ranks(inputs.ranks(), options, [&](int rank, Communicator& communicator) {
    communicator.impl().tuning = pipeline.tuning;
    hashes[std::size_t(rank)] = results(communicator, inputs.bytes(rank), inputs);
  });
  return hashes;
}

class PipelineTest : public testing::TestWithParam<int> {};

TEST_P(PipelineTest, SegmentsMessagesAndWindowsDoNotShow) {
  // Enough elements for packed to sample them.
  const RankInputs inputs(GetParam(), ElementType::f32, 17001, 3);
  const std::vector<Case> cases = all_cases();
  std::vector<std::size_t> expected;
  for (const Pipeline& pipeline : pipelines) {
    const auto hashes = results_of_ranks(pipeline, inputs);
    if (expected.empty()) expected = hashes[0];
    std::size_t first = 0;  // of the cases that must agree
    for (std::size_t i = 0; i < cases.size(); ++i) {
      // A floating-point sum depends on the algorithm, but on nothing else.
      if (cases[i].spec != cases[first].spec || (adds_floats(cases[i].spec, ElementType::f32) &&
                                                 cases[i].algorithm != cases[first].algorithm))
        first = i;
      for (int rank = 0; rank < inputs.ranks(); ++rank)
        ASSERT_EQ(hashes[std::size_t(rank)][i], expected[first])
            << cases[i].spec << " " << cases[i].algorithm << " segment " << cases[i].segment
            << " messages of " << pipeline.message_bytes << " rank " << rank << " of "
            << inputs.name();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, PipelineTest, testing::Values(2, 3, sanitized ? 5 : 7),
                         testing::PrintToStringParamName());

/// What a codec has kept goes with the outliers, whenever their round begins.
TEST(Pipeline, OutliersTakeWhatWasKept) {
  constexpr int ranks = 3;
  const RankInputs inputs(ranks, ElementType::f32, 17001, 5);
  const float infinity = std::numeric_limits<float>::infinity();
  for (const char* spec : {"thc:error_feedback=on", "packed:error_feedback=on",
                           "lowrank:columns=64,error_feedback=on"})
    for (const char* algorithm : {"direct", "ring", "recursive_doubling"}) {
      std::vector<std::size_t> expected;
      for (const Pipeline& pipeline : pipelines) {
        const LoopbackOptions options{.preferred_message_bytes = pipeline.message_bytes};
        on_ranks(ranks, options, [&](int rank, Communicator& communicator) {
          communicator.impl().tuning = pipeline.tuning;
          AllreducePlan plan(communicator, inputs.count(), inputs.type(),
                             {.codec = spec, .algorithm = algorithm, .segment = 1000});
          std::vector<std::size_t> hashes;
          for (int call = 0; call < 3; ++call) {
            Bytes vector = inputs.bytes(rank);
            if (call == 1 && rank == 1)
              std::memcpy(vector.data() + 100 * sizeof(float), &infinity, sizeof infinity);
            plan.execute(vector.data(), vector.data());
            hashes.push_back(hash_of(vector));
          }
          if (rank != 0) return;
          if (expected.empty()) expected = hashes;
          EXPECT_EQ(hashes, expected)
              << spec << " " << algorithm << ", messages of " << pipeline.message_bytes;
        });
      }
    }
}

}  // namespace
}  // namespace cohom::test
