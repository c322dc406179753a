// What calls with buffers on the (emulated) device may rely on and must not wait for, when streams
// are late.

#include "device_vector.hpp"
#include "loopback_ranks.hpp"
#include "rank_inputs.hpp"
#include "same_bytes.hpp"

#include <cohom/plan.hpp>

#include <gtest/gtest.h>

#include <barrier>
#include <cstddef>
#include <string>

namespace cohom::test {
namespace {

constexpr int ranks = 3;

class DeviceStreams : public testing::Test {
 protected:
  WithDevice device_;
};

/// The words of a new plan are zeroed in a stream that nobody waits for, and what comes from other
/// ranks must not come before: neither what a transport writes itself, nor copies. Others have done
/// what they can when the last rank begins.
TEST_F(DeviceStreams, NothingArrivesBeforeWordsAreZeroed) {
  auto& runtime = tested_runtime();
  if (runtime.name() == "emulated") kernels::emulated::set_quick_copies(true);
  const auto run = [&](const LoopbackOptions& way, const Options& options, std::size_t count,
                       int last) {
    const RankInputs inputs(ranks, ElementType::f32, count);
    std::barrier others(ranks);
    on_ranks(ranks, way, [&](int rank, Communicator& communicator) {
      const Bytes& bytes = inputs.bytes(rank);
      AllreducePlan here(communicator, count, ElementType::f32, options);
      AllreducePlan there(communicator, count, ElementType::f32, options);
      const DeviceVector input(bytes), output(bytes.size());
      const kernels::DeviceStream stream = runtime.make_stream();
      Bytes expected(bytes.size());
      here.execute(bytes.data(), expected.data());
      if (rank == last) others.arrive_and_wait();
      there.start(input.data(), output.data(), {stream});
      if (rank != last) others.arrive_and_wait();
      there.wait();
      runtime.synchronise(stream);
      EXPECT_TRUE(same_bytes(output.fetch(), expected)) << "rank " << rank;
      runtime.destroy_stream(stream);
    });
  };
  for (const LoopbackOptions& way : {reaching_device(), LoopbackOptions{}})
    for (const char* algorithm : {"tree", "direct", "ring", "recursive_doubling"})
      for (const char* codec : {"raw", "thc", "signcount"})
        for (const std::size_t count : {1, 3, 300, 5000})
          for (int last = 0; last < ranks; ++last) {
            SCOPED_TRACE(std::string(codec) + " by " + algorithm + ", " + std::to_string(count) +
                         (way.copy ? ", direct" : ", staged") + ", last " + std::to_string(last));
            run(way, {.codec = codec, .algorithm = algorithm}, count, last);
          }
}

}  // namespace
}  // namespace cohom::test
