// Calls with buffers on the (emulated) device: where they run, streams, state, buffers in different
// memory.

#include "device_vector.hpp"
#include "loopback_ranks.hpp"
#include "rank_inputs.hpp"
#include "same_bytes.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/exact_sum.hpp>
#include <cohom/plan.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

constexpr int ranks = 3;
constexpr std::size_t count = 50021;

Options with(std::string codec, std::string algorithm = "ring") {
  return {.codec = std::move(codec), .algorithm = std::move(algorithm)};
}

Bytes on_host(Communicator& communicator, const RankInputs& inputs, const Options& options) {
  Bytes output(inputs.bytes(0).size());
  allreduce(inputs.bytes(communicator.rank()).data(), output.data(), inputs.count(), inputs.type(),
            communicator, options);
  return output;
}

class DeviceCalls : public testing::Test {
 protected:
  WithDevice device_;
  RankInputs inputs_{ranks, ElementType::f32, count};
};

TEST_F(DeviceCalls, PlansSayWhereTheyRunAndHowWordsTravel) {
  const auto described = [&](const LoopbackOptions& options, const char* codec,
                             const char* algorithm) {
    PlanDescription found;
    on_ranks(ranks, options, [&](int rank, Communicator& communicator) {
      AllreducePlan plan(communicator, count, ElementType::f32, with(codec, algorithm));
      EXPECT_EQ(plan.describe().memory, "host");
      EXPECT_EQ(plan.describe().path, "host");
      const DeviceVector input(inputs_.bytes(rank)), output(inputs_.bytes(rank).size());
      plan.execute(input.data(), output.data());
      if (rank == 0) found = plan.describe();
    });
    return found.memory + " " + found.path;
  };
  for (const char* codec : {"raw", "thc", "packed", "sparse", "sparse+thc", "signcount", "marsit",
                            "sketch", "sketch:size=0.1", "exact", "sparse+exact"})
    EXPECT_EQ(described({}, codec, "ring"), "cuda staged") << codec;
  EXPECT_EQ(described(reaching_device(), "thc", "ring"), "cuda direct");
  EXPECT_EQ(described({}, "sketch:cells=f32", "ring"), "host copied");
  EXPECT_EQ(described({}, "exact:vectors=many", "ring"), "host copied");
  EXPECT_EQ(described({}, "thc", "fabric"), "host copied");
  EXPECT_EQ(described({}, "thc", "offload"), "host copied");
}

TEST_F(DeviceCalls, OnePlanTakesBuffersFromAnywhere) {
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    const Bytes expected = on_host(communicator, inputs_, with("raw"));
    AllreducePlan plan(communicator, count, ElementType::f32, with("raw"));
    const Bytes& bytes = inputs_.bytes(rank);
    const DeviceVector input(bytes), output(bytes.size());
    Bytes result(bytes.size());
    plan.execute(input.data(), output.data());
    EXPECT_TRUE(same_bytes(output.fetch(), expected)) << "device";
    plan.execute(bytes.data(), result.data());
    EXPECT_EQ(plan.describe().memory, "host");
    plan.execute(input.data(), result.data());
    EXPECT_EQ(plan.describe().path, "copied");
    const DeviceVector other(bytes.size());
    plan.execute(bytes.data(), other.data());
    EXPECT_TRUE(same_bytes(other.fetch(), expected)) << "host to device";
    plan.execute(input.data(), output.data());
    EXPECT_EQ(plan.describe().memory, "cuda");
  });
}

TEST_F(DeviceCalls, DrawsDoNotDependOnWhereBuffersAre) {
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    AllreducePlan there(communicator, count, ElementType::f32, with("thc"));
    AllreducePlan here(communicator, count, ElementType::f32, with("thc"));
    const Bytes& bytes = inputs_.bytes(rank);
    const DeviceVector input(bytes), output(bytes.size());
    Bytes result(bytes.size());
    for (int call = 0; call < 4; ++call) {
      here.execute(bytes.data(), result.data());
      if (call % 2 == 0) {
        there.execute(input.data(), output.data());
        EXPECT_TRUE(same_bytes(output.fetch(), result)) << call;
      } else {
        Bytes found(bytes.size());
        there.execute(bytes.data(), found.data());
        EXPECT_TRUE(same_bytes(found, result)) << call;
      }
    }
  });
}

TEST_F(DeviceCalls, SumsOfManyVectorsTakeBuffersFromAnywhere) {
  Bytes result;
  for (const bool there : {false, true})
    on_ranks(ranks, [&](int rank, Communicator& communicator) {
      ExactSum sum(count, ElementType::f32);
      const Bytes& bytes = inputs_.bytes(rank);
      const DeviceVector input(bytes), output(bytes.size());
      Bytes found(bytes.size());
      for (int v = 0; v < 3; ++v) sum.add(there ? input.data() : bytes.data());
      sum.allreduce(there ? output.data() : found.data(), communicator);
      if (there) found = output.fetch();
      if (rank == 0 && !there) result = found;
      if (there) EXPECT_TRUE(same_bytes(found, result));
    });
  // Thrice is exact but for the one rounding.
  const auto values = to_values(ElementType::f32, result);
  for (std::size_t i = 0; i < count; ++i)
    ASSERT_EQ(values[i], double(static_cast<float>(3 * inputs_.sum()[i]))) << i;
}

TEST_F(DeviceCalls, PinnedMemoryIsTheHosts) {
  auto& runtime = tested_runtime();
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    const Bytes& bytes = inputs_.bytes(rank);
    const Bytes expected = on_host(communicator, inputs_, with("raw"));
    void* const pinned = runtime.allocate_pinned(bytes.size());
    std::memcpy(pinned, bytes.data(), bytes.size());
    allreduce(pinned, pinned, count, ElementType::f32, communicator, with("raw"));
    EXPECT_TRUE(same_bytes({static_cast<std::byte*>(pinned), bytes.size()}, expected));
    runtime.free_pinned(pinned);
  });
}

/// What a rank must see in the order of its stream, whatever codec and path.
TEST_F(DeviceCalls, ComeInTheOrderOfAStream) {
  auto& runtime = tested_runtime();
  for (const Options& options : {with("raw"), with("sketch"), with("sketch", "fabric")})
    on_ranks(ranks, [&](int rank, Communicator& communicator) {
      const Bytes& bytes = inputs_.bytes(rank);
      const Bytes expected = on_host(communicator, inputs_, options);
      const kernels::DeviceStream stream = runtime.make_stream();
      const DeviceVector before(bytes), input(bytes.size()), output(bytes.size()),
          after(bytes.size());
      for (int call = 0; call < 3; ++call) {
        runtime.fill(input.data(), 0xff, bytes.size(), stream);
        runtime.copy_within(input.data(), before.data(), bytes.size(), stream);
        Request request = allreduce_async(input.data(), output.data(), count, ElementType::f32,
                                          communicator, options, {stream});
        request.wait();
        runtime.copy_within(after.data(), output.data(), bytes.size(), stream);
        runtime.fill(output.data(), 0xff, bytes.size(), stream);
      }
      runtime.synchronise(stream);
      EXPECT_TRUE(same_bytes(after.fetch(), expected)) << options.codec << " " << options.algorithm;
      runtime.destroy_stream(stream);
    });
}

TEST_F(DeviceCalls, PlansComeInTheOrderOfAStream) {
  auto& runtime = tested_runtime();
  for (const char* codec : {"raw", "thc", "marsit"})
    on_ranks(ranks, [&](int rank, Communicator& communicator) {
      const Bytes& bytes = inputs_.bytes(rank);
      AllreducePlan here(communicator, count, ElementType::f32, with(codec));
      AllreducePlan there(communicator, count, ElementType::f32, with(codec));
      const kernels::DeviceStream stream = runtime.make_stream();
      const DeviceVector before(bytes), data(bytes.size());
      Bytes expected = bytes;
      for (int call = 0; call < 2; ++call) {
        here.execute(bytes.data(), expected.data());
        runtime.copy_within(data.data(), before.data(), bytes.size(), stream);
        there.start(data.data(), data.data(), {stream});
        there.wait();
      }
      runtime.synchronise(stream);
      EXPECT_TRUE(same_bytes(data.fetch(), expected)) << codec;
      runtime.destroy_stream(stream);
    });
}

/// Blocking calls wait for all that the device has to do, in whatever stream.
TEST_F(DeviceCalls, SeeWhatAnyStreamWrites) {
  auto& runtime = tested_runtime();
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    const Bytes& bytes = inputs_.bytes(rank);
    const Bytes expected = on_host(communicator, inputs_, with("raw"));
    const kernels::DeviceStream stream = runtime.make_stream();
    const DeviceVector before(bytes), input(bytes.size()), output(bytes.size());
    runtime.copy_within(input.data(), before.data(), bytes.size(), stream);
    allreduce(input.data(), output.data(), count, ElementType::f32, communicator, with("raw"));
    EXPECT_TRUE(same_bytes(output.fetch(), expected));
    runtime.destroy_stream(stream);
  });
}

TEST_F(DeviceCalls, SeveralMayBeInFlight) {
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    const Bytes& bytes = inputs_.bytes(rank);
    const Bytes expected = on_host(communicator, inputs_, with("raw"));
    const DeviceVector input(bytes);
    std::vector<DeviceVector> outputs;
    for (int i = 0; i < 3; ++i) outputs.emplace_back(bytes.size());
    Bytes on_host(bytes.size());
    std::vector<Request> requests;
    for (const DeviceVector& output : outputs)
      requests.push_back(allreduce_start(input.data(), output.data(), count, ElementType::f32,
                                         communicator, with("raw")));
    requests.push_back(allreduce_start(bytes.data(), on_host.data(), count, ElementType::f32,
                                       communicator, with("raw")));
    for (Request& request : requests) request.wait();
    for (const DeviceVector& output : outputs) EXPECT_TRUE(same_bytes(output.fetch(), expected));
    EXPECT_TRUE(same_bytes(on_host, expected));
  });
}

/// State follows the buffers: to the device, back, and through a checkpoint.
TEST_F(DeviceCalls, StateFollowsTheBuffers) {
  const Options options = with("thc:error_feedback=on");
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    const Bytes& bytes = inputs_.bytes(rank);
    AllreducePlan here(communicator, count, ElementType::f32, options);
    AllreducePlan there(communicator, count, ElementType::f32, options);
    const DeviceVector input(bytes), output(bytes.size());
    Bytes expected(bytes.size()), found(bytes.size());
    for (const char* place :
         {"device", "host", "device", "restored", "device", "reset", "device"}) {
      if (place == std::string("restored")) {
        const auto saved = there.save_state();
        EXPECT_TRUE(same_bytes(saved, here.save_state()));
        there.restore_state(saved);
        continue;
      }
      if (place == std::string("reset")) {
        there.reset_state();
        here.reset_state();
        continue;
      }
      here.execute(bytes.data(), expected.data());
      if (place == std::string("device")) {
        there.execute(input.data(), output.data());
        found = output.fetch();
      } else {
        there.execute(bytes.data(), found.data());
      }
      EXPECT_TRUE(same_bytes(found, expected)) << place;
    }
  });
}

/// Ranks may have buffers in different memory where they agree on segments.
TEST_F(DeviceCalls, RanksMayDifferWhereTheSegmentIsGiven) {
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    Options options = with("thc");
    options.segment = 4096;
    const Bytes& bytes = inputs_.bytes(rank);
    Bytes expected = bytes;
    AllreducePlan(communicator, count, ElementType::f32, options)
        .execute(expected.data(), expected.data());
    const DeviceVector data(bytes);
    Bytes host = bytes;
    void* const buffer = rank == 1 ? data.data() : host.data();
    AllreducePlan(communicator, count, ElementType::f32, options).execute(buffer, buffer);
    EXPECT_TRUE(same_bytes(rank == 1 ? data.fetch() : host, expected));
  });
}

TEST_F(DeviceCalls, DeviceMemoryIsGivenBack) {
  if (tested_runtime().name() != "emulated") GTEST_SKIP() << "only the emulated device is asked";
  const std::size_t before = kernels::emulated::allocated();
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    const DeviceVector data(inputs_.bytes(rank));
    for (const char* codec :
         {"raw", "thc:error_feedback=on", "sparse", "marsit", "sketch", "sketch:cells=f32"}) {
      AllreducePlan plan(communicator, count, ElementType::f32, with(codec));
      plan.execute(data.data(), data.data());
    }
    allreduce(data.data(), data.data(), count, ElementType::f32, communicator, with("thc"));
  });
  EXPECT_EQ(kernels::emulated::allocated(), before);
}

}  // namespace
}  // namespace cohom::test
