// signcount and marsit over MPI: every algorithm gives the same bits, MPI_BOR's and MPI_SUM's
// included.

#include "mpix_fixture.hpp"

#include "schedule/algorithms/algorithm.hpp"

#include <cohom/mpi.hpp>
#include <cohom/plan.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace cohom::testing {
namespace {

using Sign = MpixTest;

std::vector<float> own_values(int rank, std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = std::sin(0.37f * static_cast<float>(i) + static_cast<float>(rank));
  return values;
}

TEST_F(Sign, EveryAlgorithmGivesTheSameBits) {
  constexpr std::size_t count = 30011;
  const std::vector<float> input = own_values(rank_, count);
  Communicator& communicator = mpi::cached_communicator(comm_);
  for (const char* codec : {"signcount", "signcount:vote=majority", "signcount:error_feedback=on",
                            "marsit", "marsit:compensation=on,period=3"}) {
    std::vector<float> expected;
    for (const AlgorithmRow& algorithm : algorithm_table()) {
      if (algorithm.in_network) continue;  // there is no aggregator
      AllreducePlan plan(communicator, count, ElementType::f32,
                         {.codec = codec, .algorithm = std::string(algorithm.name)});
      std::vector<float> all;
      for (int step = 0; step < 4; ++step) {
        std::vector<float> output(count);
        plan.execute(input.data(), output.data());
        expect_same_on_all_ranks(output.data(), count * sizeof(float), comm_);
        all.insert(all.end(), output.begin(), output.end());
      }
      if (expected.empty()) expected = all;
      EXPECT_EQ(all, expected) << codec << " by " << algorithm.name;
    }
  }
}

}  // namespace
}  // namespace cohom::testing
