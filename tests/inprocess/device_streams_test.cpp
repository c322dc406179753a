// What calls with buffers on the (emulated) device may rely on and must not wait for, when streams
// are late.

#include "device_vector.hpp"
#include "loopback_ranks.hpp"
#include "rank_inputs.hpp"
#include "same_bytes.hpp"
#include "thoroughness.hpp"

#include <cohom/allreduce.hpp>
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

struct CallMode {
  const char* codec;
  const char* algorithm = "ring";
  const char* memory = "cuda";
};

const CallMode modes[] = {{"raw"},
                          {"raw", "tree"},
                          {"thc"},
                          {"thc:error_feedback=on"},
                          {"thc:scale=global", "direct"},
                          {"packed"},
                          {"packed:rel_error=0.001"},
                          {"sparse", "direct"},
                          {"sparse:index=bloom"},
                          {"sparse+thc"},
                          {"signcount", "recursive_doubling"},
                          {"marsit"},
                          {"sketch"},
                          {"sketch:cells=f32", "ring", "host"},
                          {"thc", "fabric", "host"},
                          {"thc", "offload", "host"}};

/// A plan that is prepared has all its calls need, kernels too: neither start() nor test() waits
/// for what the stream has before the call, be it for ever, and wait() finds the bits.
TEST_F(DeviceStreams, CallsNeverWaitForTheirStream) {
  auto& runtime = tested_runtime();
  if (runtime.name() != "emulated") GTEST_SKIP() << "only the emulated device counts who waits";
  constexpr std::size_t count = 20011;
  const RankInputs inputs(ranks, ElementType::f32, count);
  for (const bool reaches : {true, false})
    for (const CallMode& mode : modes) {
      SCOPED_TRACE(std::string(mode.codec) + " by " + mode.algorithm +
                   (reaches ? ", direct" : ", staged"));
      const Options chosen{.codec = mode.codec, .algorithm = mode.algorithm};
      const LoopbackOptions options = reaches ? reaching_device() : LoopbackOptions{};
      std::barrier all(ranks);
      on_ranks(ranks, options, [&](int rank, Communicator& communicator) {
        const Bytes& bytes = inputs.bytes(rank);
        AllreducePlan here(communicator, count, ElementType::f32, chosen);
        AllreducePlan there(communicator, count, ElementType::f32, chosen);
        const DeviceVector before(bytes), input(bytes.size()), output(bytes.size());
        const kernels::DeviceStream stream = runtime.make_stream();
        there.prepare(input.data(), output.data());
        EXPECT_EQ(there.describe().memory, mode.memory);
        Bytes expected(bytes.size());
        for (int call = 0; call < 2; ++call) {
          here.execute(bytes.data(), expected.data());
          all.arrive_and_wait();
          kernels::emulated::hold(stream, true);
          runtime.fill(input.data(), 0xff, bytes.size(), stream);
          runtime.copy_within(input.data(), before.data(), bytes.size(), stream);
          there.start(input.data(), output.data(), {stream});
          for (int test = 0; test < 100; ++test) EXPECT_FALSE(there.test());
          all.arrive_and_wait();
          EXPECT_EQ(kernels::emulated::waits_for_held(), 0u) << "call " << call;
          all.arrive_and_wait();
          kernels::emulated::hold(stream, false);
          there.wait();
          runtime.synchronise(stream);
          EXPECT_TRUE(same_bytes(output.fetch(), expected)) << "call " << call;
        }
        all.arrive_and_wait();  // what follows gives memory back
        runtime.destroy_stream(stream);
      });
    }
}

/// One-shot calls keep what the first one of a kind has taken.
TEST_F(DeviceStreams, LaterCallsNeverWaitForTheirStream) {
  auto& runtime = tested_runtime();
  if (runtime.name() != "emulated") GTEST_SKIP() << "only the emulated device counts who waits";
  constexpr std::size_t count = 4099;
  const RankInputs inputs(ranks, ElementType::f32, count);
  for (const char* codec : {"raw", "thc", "sketch:cells=f32"}) {
    SCOPED_TRACE(codec);
    std::barrier all(ranks);
    on_ranks(ranks, [&](int rank, Communicator& communicator) {
      const DeviceVector data(inputs.bytes(rank)), output(inputs.bytes(rank).size());
      const kernels::DeviceStream stream = runtime.make_stream();
      const auto start = [&] {
        return allreduce_async(data.data(), output.data(), count, ElementType::f32, communicator,
                               {.codec = codec, .algorithm = "ring"}, {stream});
      };
      start().wait();
      all.arrive_and_wait();
      const DeviceVector other(1);
      kernels::emulated::hold(stream, true);
      runtime.fill(other.data(), 0, 1, stream);
      Request request = start();
      for (int test = 0; test < 100; ++test) EXPECT_FALSE(request.test());
      all.arrive_and_wait();
      EXPECT_EQ(kernels::emulated::waits_for_held(), 0u);
      all.arrive_and_wait();
      kernels::emulated::hold(stream, false);
      request.wait();
      all.arrive_and_wait();
      runtime.destroy_stream(stream);
    });
  }
}

/// Whatever kernels need for the sizes of blocks, sums and samples that codecs have.
TEST_F(DeviceStreams, CallsTakeNoMemory) {
  if (tested_runtime().name() != "emulated") GTEST_SKIP() << "only the emulated device is asked";
  constexpr std::size_t count = (std::size_t{1} << 18) + 77;
  for (const ElementType type : {ElementType::f32, ElementType::f64}) {
    if (races_only && type == ElementType::f64) break;
    const RankInputs inputs(ranks, type, count);
    CaseShare share(1, races_only ? 4 : 1);
    for (const char* codec :
         {"raw", "thc", "thc:rotation=16", "thc:rotation=32,error_feedback=on", "thc:rotation=4096",
          "thc:rotation=65536", "packed", "packed:bits=4", "sparse", "sparse+thc:rotation=16",
          "signcount", "signcount:vote=majority", "marsit", "sketch", "exact"}) {
      if (share.skips_this()) continue;
      SCOPED_TRACE(codec);
      std::barrier all(ranks);
      on_ranks(ranks, [&](int rank, Communicator& communicator) {
        const DeviceVector data(inputs.bytes(rank));
        AllreducePlan plan(communicator, count, type,
                           {.codec = codec, .algorithm = "direct", .op = ReduceOp::mean});
        plan.prepare(data.data(), data.data());
        all.arrive_and_wait();
        const std::size_t before = kernels::emulated::allocated();
        all.arrive_and_wait();
        for (int call = 0; call < 2; ++call) plan.execute(data.data(), data.data());
        all.arrive_and_wait();
        EXPECT_EQ(kernels::emulated::allocated(), before);
        all.arrive_and_wait();
      });
    }
  }
}

/// All ranks hear of it, and the plan goes on.
TEST_F(DeviceStreams, PreparingIsCollective) {
  constexpr std::size_t count = 1000;
  const RankInputs inputs(ranks, ElementType::f32, count);
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    const DeviceVector data(inputs.bytes(rank));
    Bytes host = inputs.bytes(rank);
    AllreducePlan plan(communicator, count, ElementType::f32, {.codec = "raw"});
    const auto message = [&](const void* input, void* output) {
      try {
        plan.prepare(input, output);
      } catch (const Error& error) {
        return std::string(error.what());
      }
      return std::string();
    };
    void* const none_on_one = rank == 1 ? nullptr : host.data();
    EXPECT_NE(message(none_on_one, none_on_one).find("rank 1: "), std::string::npos);
    void* const buffer = rank == 1 ? data.data() : host.data();
    EXPECT_NE(message(buffer, buffer).find("memory space"), std::string::npos);
    EXPECT_EQ(message(data.data(), data.data()), "");
    EXPECT_EQ(plan.describe().memory, "cuda");
    plan.start(data.data(), data.data());
    EXPECT_NE(message(data.data(), data.data()).find("call in flight"), std::string::npos);
    plan.wait();
    EXPECT_LT(inputs.error_of(data.fetch()), 1e-10);
  });
}

/// The words of a new plan are zeroed in a stream that nobody waits for, and what comes from other
/// ranks must not come before: neither what a transport writes itself, nor copies. Others have done
/// what they can when the last rank begins.
TEST_F(DeviceStreams, NothingArrivesBeforeWordsAreZeroed) {
  auto& runtime = tested_runtime();
  if (runtime.name() == "emulated") kernels::emulated::set_quick_copies(true);
  const auto run = [&](const LoopbackOptions& mode, const Options& options, std::size_t count,
                       int last) {
    const RankInputs inputs(ranks, ElementType::f32, count);
    std::barrier others(ranks);
    on_ranks(ranks, mode, [&](int rank, Communicator& communicator) {
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
  for (const LoopbackOptions& mode : {reaching_device(), LoopbackOptions{}})
    for (const char* algorithm : {"tree", "direct", "ring", "recursive_doubling"})
      for (const char* codec : {"raw", "thc", "signcount"})
        for (const std::size_t count : {1, 3, 300, 5000})
          for (int last = 0; last < ranks; ++last) {
            SCOPED_TRACE(std::string(codec) + " by " + algorithm + ", " + std::to_string(count) +
                         (mode.copy ? ", direct" : ", staged") + ", last " + std::to_string(last));
            run(mode, {.codec = codec, .algorithm = algorithm}, count, last);
          }
}

}  // namespace
}  // namespace cohom::test
