// How a vector is cut into segments and messages, and how many of them are under way, must not
// change a bit of any result.

#include "algorithms/algorithm.hpp"
#include "codec_specs.hpp"
#include "communicator_impl.hpp"
#include "loopback_ranks.hpp"
#include "rank_inputs.hpp"
#include "same_bytes.hpp"
#include "thoroughness.hpp"

#include <cohom/plan.hpp>

#include <gtest/gtest.h>

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
                                      "sparse",
                                      "sparse+thc"};
constexpr std::size_t segments[] = {0, 256, 1000, 4096};

struct Pipeline {
  std::size_t message_bytes;
  Tuning tuning;
};
const Pipeline pipelines[] = {
    {256 * 1024, {}},
    {4096, {.send_window = 2, .receive_window = 1, .low_sends = 1, .sends_per_peer = 1}},
    {64, {.send_window = 1, .receive_window = 1, .low_sends = 0, .sends_per_peer = 0}},
};

/// The hashes of all specs x algorithms x segments on one rank, in that order; in place every other
/// time.
std::vector<std::size_t> results(Communicator& communicator, const Bytes& input,
                                 const RankInputs& inputs) {
  std::vector<std::size_t> hashes;
  for (std::string_view spec : specs)
    for (const AlgorithmRow& algorithm : algorithm_table())
      for (std::size_t segment : segments) {
        AllreducePlan plan(communicator, inputs.count(), inputs.type(),
                           {.codec = std::string(spec),
                            .algorithm = std::string(algorithm.name),
                            .segment = segment});
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
  const RankInputs inputs(GetParam(), ElementType::f32, 9001, 3);
  const std::vector<std::size_t> expected = results_of_ranks(pipelines[0], inputs)[0];
  constexpr std::size_t per_algorithm = std::size(segments);
  const std::size_t per_spec = per_algorithm * algorithm_table().size();
  for (const Pipeline& pipeline : pipelines) {
    const auto hashes = results_of_ranks(pipeline, inputs);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const std::string_view spec = specs[i / per_spec];
      // A floating-point sum depends on the algorithm, but on nothing else.
      const std::size_t same =
          adds_floats(spec, ElementType::f32) ? i - i % per_algorithm : i - i % per_spec;
      for (int rank = 0; rank < inputs.ranks(); ++rank)
        ASSERT_EQ(hashes[std::size_t(rank)][i], expected[same])
            << spec << " " << algorithm_table()[i % per_spec / per_algorithm].name << " segment "
            << segments[i % per_algorithm] << " messages of " << pipeline.message_bytes << " rank "
            << rank << " of " << inputs.name();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, PipelineTest, testing::ValuesIn(tested_ranks()),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace cohom::test
