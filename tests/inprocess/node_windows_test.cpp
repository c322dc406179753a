// Calls give the same bits with node windows and without, for every codec and algorithm.

#include "codec_specs.hpp"
#include "elements.hpp"
#include "loopback_ranks.hpp"
#include "rank_inputs.hpp"
#include "same_bytes.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/plan.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

/// By rank: the results of all calls, one behind the other.
std::vector<Bytes> results(const std::vector<std::uint64_t>& nodes, bool windows, bool checksum) {
  const int ranks = int(nodes.size());
  constexpr std::size_t count = 20001;  // several messages, and a ragged tail
  const RankInputs inputs(ranks, ElementType::f32, count);
  std::vector<Bytes> by_rank(nodes.size());
  on_ranks(ranks, {.preferred_message_bytes = 16384, .nodes = nodes, .node_windows = windows},
           [&](int rank, Communicator& communicator) {
             Bytes& all = by_rank[std::size_t(rank)];
             for (const CodecSpec& codec : specs_for(ranks))
               for (const AlgorithmRow& algorithm : algorithms_for(codec.spec)) {
                 if (algorithm.needs_aggregator) continue;
                 Bytes data = inputs.bytes(rank);
                 AllreducePlan plan(communicator, count, ElementType::f32,
                                    {.codec = std::string(codec.spec),
                                     .algorithm = std::string(algorithm.name),
                                     .checksum = checksum ? "on" : "off"});
                 plan.execute(data.data(), data.data());
                 all.insert(all.end(), data.begin(), data.end());
               }
           });
  return by_rank;
}

TEST(NodeWindows, ChangeNoBits) {
  const std::vector<std::uint64_t> nodes{0, 1, 1};
  const auto without = results(nodes, false, false);
  EXPECT_EQ(results(nodes, true, false), without);
  EXPECT_EQ(results(nodes, true, true), without) << "with checksums";
}

TEST(NodeWindows, CarryManyCallsAtOnce) {
  on_ranks(3, {.nodes = {0, 0, 0}, .node_windows = true}, [](int rank, Communicator& communicator) {
    constexpr std::size_t calls = 40, count = 3000;
    std::vector<std::vector<float>> data(calls, std::vector<float>(count));
    std::vector<Request> requests;
    for (std::size_t call = 0; call < calls; ++call) {
      for (std::size_t i = 0; i < count; ++i)
        data[call][i] = float(call) + float(i % 100) * float(rank + 1);
      requests.push_back(allreduce_start(data[call].data(), data[call].data(), count,
                                         ElementType::f32, communicator, {.codec = "raw"}));
    }
    for (std::size_t call = calls; call-- > 0;) requests[call].wait();
    for (std::size_t call = 0; call < calls; ++call)
      for (std::size_t i = 0; i < count; ++i)
        ASSERT_EQ(data[call][i], float(3 * call) + float(i % 100) * 6.0f);
  });
}

}  // namespace
}  // namespace cohom::test
