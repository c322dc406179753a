// reduce_scatter and reduce with buffers on the (emulated) device: the bits of the host's buffers.

#include "codec_specs.hpp"
#include "device_vector.hpp"
#include "loopback_ranks.hpp"
#include "rank_inputs.hpp"
#include "same_bytes.hpp"
#include "thoroughness.hpp"

#include <cohom/plan.hpp>
#include <cohom/reductions.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohom::test {
namespace {

constexpr std::size_t whole_blocks = 4096;  // of every codec

Options options_of(std::string_view codec, std::string_view algorithm,
                   ReduceOp op = ReduceOp::sum) {
  return {.codec = std::string(codec), .algorithm = std::string(algorithm), .op = op};
}

class DeviceReductions : public testing::TestWithParam<int> {
 protected:
  WithDevice device_;
};

/// Two calls each, so that the second one finds state and words of the first.
void expect_hosts_parts(const RankInputs& inputs, Communicator& communicator,
                        const Options& options) {
  const int rank = communicator.rank(), ranks = communicator.ranks();
  const Bytes& bytes = inputs.bytes(rank);
  const std::size_t count = inputs.count() / std::size_t(ranks);
  Bytes expected(bytes.size() / std::size_t(ranks));
  ReduceScatterPlan here(communicator, count, inputs.type(), options);
  ReduceScatterPlan there(communicator, count, inputs.type(), options);
  ReduceScatterPlan in_place(communicator, count, inputs.type(), options);
  const DeviceVector input(bytes), output(expected.size());
  for (int call = 0; call < 2; ++call) {
    here.execute(bytes.data(), expected.data());
    there.execute(input.data(), output.data());
    EXPECT_TRUE(same_bytes(output.fetch(), expected)) << "call " << call;
    const DeviceVector both(bytes);
    in_place.execute(both.data(), both.data());
    Bytes right = bytes;
    std::ranges::copy(expected, right.begin());
    EXPECT_TRUE(same_bytes(both.fetch(), right)) << "in place, call " << call;
  }
  EXPECT_TRUE(same_bytes(input.fetch(), bytes)) << "the input was written";
}

void expect_hosts_sum_at_root(const RankInputs& inputs, Communicator& communicator,
                              const Options& options) {
  const int rank = communicator.rank(), root = communicator.ranks() / 2;
  const Bytes& bytes = inputs.bytes(rank);
  ReducePlan here(communicator, inputs.count(), inputs.type(), root, options);
  ReducePlan there(communicator, inputs.count(), inputs.type(), root, options);
  ReducePlan in_place(communicator, inputs.count(), inputs.type(), root, options);
  Bytes expected(bytes.size());
  const DeviceVector input(bytes), output(bytes.size());
  for (int call = 0; call < 2; ++call) {
    here.execute(bytes.data(), expected.data());
    // The others' output is looked at by nobody.
    there.execute(input.data(), rank == root ? output.data() : reinterpret_cast<void*>(8));
    const DeviceVector both(bytes);
    in_place.execute(both.data(), both.data());
    if (rank == root) {
      EXPECT_TRUE(same_bytes(output.fetch(), expected)) << "call " << call;
      EXPECT_TRUE(same_bytes(both.fetch(), expected)) << "in place, call " << call;
    } else {
      EXPECT_TRUE(same_bytes(both.fetch(), bytes)) << "written, call " << call;
    }
  }
  EXPECT_TRUE(same_bytes(input.fetch(), bytes)) << "the input was written";
}

/// This rank's vector is its part.
void expect_hosts_gathering(const RankInputs& inputs, Communicator& communicator,
                            const Options& options) {
  const Bytes& own = inputs.bytes(communicator.rank());
  AllgatherPlan here(communicator, inputs.count(), inputs.type(), options);
  AllgatherPlan there(communicator, inputs.count(), inputs.type(), options);
  AllgatherPlan in_place(communicator, inputs.count(), inputs.type(), options);
  Bytes expected(own.size() * std::size_t(communicator.ranks()));
  const std::size_t first = own.size() * std::size_t(communicator.rank());
  const DeviceVector input(own), output(expected.size());
  for (int call = 0; call < 2; ++call) {
    here.execute(own.data(), expected.data());
    there.execute(input.data(), output.data());
    EXPECT_TRUE(same_bytes(output.fetch(), expected)) << "call " << call;
    Bytes before(expected.size());
    std::ranges::copy(own, before.begin() + std::ptrdiff_t(first));
    const DeviceVector both(before);
    in_place.execute(static_cast<std::byte*>(both.data()) + first, both.data());
    EXPECT_TRUE(same_bytes(both.fetch(), expected)) << "in place, call " << call;
  }
  EXPECT_TRUE(same_bytes(input.fetch(), own)) << "the input was written";
  EXPECT_EQ(there.describe().path, "copied");
}

TEST_P(DeviceReductions, GatherTheHostsParts) {
  const int ranks = GetParam();
  const RankInputs inputs(ranks, ElementType::f32, 1001);
  on_ranks(ranks, [&](int, Communicator& communicator) {
    for (const auto* codec : {"raw", "thc", "packed", "sparse"})
      for (const auto* algorithm : {"ring", "direct"}) {
        SCOPED_TRACE(std::string(codec) + " " + algorithm);
        expect_hosts_gathering(inputs, communicator, options_of(codec, algorithm));
      }
  });
}

TEST_P(DeviceReductions, HaveTheHostsBits) {
  const int ranks = GetParam();
  const ElementType types[] = {ElementType::f32, ElementType::bf16, ElementType::f64};
  for (const std::size_t count : {whole_blocks, std::size_t(1001)}) {
    const ElementType type = types[(std::size_t(ranks) + count) % 3];
    const RankInputs inputs(ranks, type, count * std::size_t(ranks), count);
    for (const bool reaches : {false, true})
      on_ranks(ranks, reaches ? reaching_device() : LoopbackOptions{},
               [&](int rank, Communicator& communicator) {
                 CaseShare share(4, races_only ? 41 : 19);
                 std::size_t number = 0;
                 for (const CodecSpec& codec : specs_for(ranks))
                   for (const std::string_view algorithm : {"ring", "direct", "tree"}) {
                     if (share.skips_this()) continue;
                     SCOPED_TRACE(std::string(codec.spec) + " " + std::string(algorithm) + " " +
                                  inputs.name() + " rank " + std::to_string(rank));
                     const Options options = options_of(
                         codec.spec, algorithm, number++ % 2 == 0 ? ReduceOp::sum : ReduceOp::mean);
                     expect_hosts_parts(inputs, communicator, options);
                     expect_hosts_sum_at_root(inputs, communicator, options);
                   }
               });
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, DeviceReductions, ::testing::Values(1, 3, 4));

class DeviceReductionsOf : public testing::Test {
 protected:
  WithDevice device_;
};

TEST_F(DeviceReductionsOf, PlansSayWhereTheyRun) {
  constexpr int ranks = 3, root = 1;
  const RankInputs inputs(ranks, ElementType::f32, ranks * whole_blocks);
  struct Case {
    const char* codec;
    const char* algorithm;
    const char* memory;
    const char* path;
  };
  for (const Case& c : {Case{"thc", "ring", "cuda", "staged"},
                        {"raw", "auto", "cuda", "staged"},
                        {"packed", "direct", "cuda", "staged"},
                        {"exact:vectors=many", "ring", "host", "copied"}}) {
    SCOPED_TRACE(c.codec);
    on_ranks(ranks, [&](int rank, Communicator& communicator) {
      const DeviceVector input(inputs.bytes(rank)), output(inputs.bytes(rank).size());
      const Options options = options_of(c.codec, c.algorithm);
      ReduceScatterPlan scatter(communicator, whole_blocks, ElementType::f32, options);
      scatter.execute(input.data(), output.data());
      ReducePlan reduce(communicator, inputs.count(), ElementType::f32, root, options);
      reduce.prepare(input.data(), rank == root ? output.data() : nullptr);
      reduce.execute(input.data(), rank == root ? output.data() : nullptr);
      for (const Plan* plan : {static_cast<Plan*>(&scatter), static_cast<Plan*>(&reduce)}) {
        EXPECT_EQ(plan->describe().memory, c.memory);
        EXPECT_EQ(plan->describe().path, c.path);
      }
    });
  }
}

// A part, so that its output and its input have different lengths where they are copied, too.
TEST_F(DeviceReductionsOf, BuffersLieInDifferentMemory) {
  constexpr int ranks = 3;
  constexpr std::size_t count = 1001;
  const RankInputs inputs(ranks, ElementType::f32, ranks * count);
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    const Bytes& bytes = inputs.bytes(rank);
    const Options options = options_of("exact", "ring");
    Bytes expected(4 * count), found(4 * count);
    const DeviceVector input(bytes), output(4 * count);
    reduce_scatter(bytes.data(), expected.data(), count, ElementType::f32, communicator, options);
    reduce_scatter(input.data(), found.data(), count, ElementType::f32, communicator, options);
    EXPECT_TRUE(same_bytes(found, expected)) << "device to host";
    reduce_scatter(bytes.data(), output.data(), count, ElementType::f32, communicator, options);
    EXPECT_TRUE(same_bytes(output.fetch(), expected)) << "host to device";
    // The root's call runs on copies, and those of others on the device.
    Options cut = options;
    cut.segment = 1024;
    Bytes sum(bytes.size()), found_sum(bytes.size());
    reduce(bytes.data(), sum.data(), ranks * count, ElementType::f32, 2, communicator, cut);
    reduce(input.data(), rank == 2 ? found_sum.data() : nullptr, ranks * count, ElementType::f32, 2,
           communicator, cut);
    EXPECT_TRUE(rank != 2 || same_bytes(found_sum, sum)) << "to the root's host";
  });
}

// Copies of a call in place have another length than those of one that is not.
TEST_F(DeviceReductionsOf, OnePlanTakesCallsInPlaceAndOthers) {
  constexpr int ranks = 3;
  constexpr std::size_t count = 1001;
  const RankInputs inputs(ranks, ElementType::f32, ranks * count);
  for (const char* codec : {"raw", "exact:vectors=many"}) {  // there, and on copies
    SCOPED_TRACE(codec);
    on_ranks(ranks, [&](int rank, Communicator& communicator) {
      const Bytes& bytes = inputs.bytes(rank);
      const Options options = options_of(codec, "ring");
      Bytes expected(4 * count);
      reduce_scatter(bytes.data(), expected.data(), count, ElementType::f32, communicator, options);
      ReduceScatterPlan plan(communicator, count, ElementType::f32, options);
      for (int call = 0; call < 2; ++call) {
        const DeviceVector input(bytes), output(4 * count), both(bytes);
        plan.execute(input.data(), output.data());
        EXPECT_TRUE(same_bytes(output.fetch(), expected)) << "call " << call;
        plan.execute(both.data(), both.data());
        Bytes part = both.fetch();
        part.resize(expected.size());
        EXPECT_TRUE(same_bytes(part, expected)) << "in place, call " << call;
      }
    });
  }
}

TEST_F(DeviceReductionsOf, PreparedCallsTakeNoMemory) {
  if (tested_runtime().name() != "emulated") GTEST_SKIP() << "only the emulated device is asked";
  constexpr int ranks = 3;
  const RankInputs inputs(ranks, ElementType::f32, ranks * whole_blocks);
  std::barrier all(ranks);
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    const DeviceVector data(inputs.bytes(rank));
    ReduceScatterPlan plan(communicator, whole_blocks, ElementType::f32, options_of("thc", "ring"));
    plan.prepare(data.data(), data.data());  // in place, which takes memory of its own
    all.arrive_and_wait();
    const std::size_t before = kernels::emulated::allocated();
    all.arrive_and_wait();
    for (int call = 0; call < 2; ++call) plan.execute(data.data(), data.data());
    all.arrive_and_wait();
    EXPECT_EQ(kernels::emulated::allocated(), before);
    all.arrive_and_wait();
  });
}

TEST_F(DeviceReductionsOf, RanksWhoseBuffersDifferGetOneError) {
  constexpr int ranks = 3, root = 2;
  const RankInputs inputs(ranks, ElementType::f32, whole_blocks);
  for (const bool input_differs : {true, false})
    on_ranks(ranks, [&](int rank, Communicator& communicator) {
      const DeviceVector input(inputs.bytes(rank)), output(inputs.bytes(rank).size());
      Bytes here(inputs.bytes(rank).size());
      const void* const from = input_differs && rank == 0 ? here.data() : input.data();
      void* const to = rank != root ? nullptr : input_differs ? output.data() : here.data();
      try {
        reduce(from, to, whole_blocks, ElementType::f32, root, communicator,
               options_of("thc", "ring"));
        ADD_FAILURE() << "no error";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::mismatch) << error.what();
        EXPECT_NE(std::string(error.what()).find("memory"), std::string::npos) << error.what();
      }
    });
}

TEST_F(DeviceReductionsOf, CallsComeInTheOrderOfAStream) {
  auto& runtime = tested_runtime();
  constexpr int ranks = 3, root = 1;
  constexpr std::size_t count = 1001;
  const RankInputs inputs(ranks, ElementType::f32, ranks * count);
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    const Bytes& bytes = inputs.bytes(rank);
    const Options options = options_of("exact", "ring");
    Bytes sum(bytes.size());
    allreduce(bytes.data(), sum.data(), inputs.count(), ElementType::f32, communicator, options);
    const DeviceVector before(bytes), input(bytes.size()), part(4 * count), all(bytes.size());
    const kernels::DeviceStream stream = runtime.make_stream();
    runtime.copy_within(input.data(), before.data(), bytes.size(), stream);
    Request first = reduce_scatter_async(input.data(), part.data(), count, ElementType::f32,
                                         communicator, options, {stream});
    Request second = reduce_async(input.data(), rank == root ? all.data() : nullptr, inputs.count(),
                                  ElementType::f32, root, communicator, options, {stream});
    first.wait();
    second.wait();
    runtime.synchronise(stream);
    const auto own = std::span(sum).subspan(4 * count * std::size_t(rank), 4 * count);
    EXPECT_TRUE(same_bytes(part.fetch(), own));
    if (rank == root) {
      EXPECT_TRUE(same_bytes(all.fetch(), sum));
    }
    runtime.destroy_stream(stream);
  });
}

// Parts are no multiples of a block, so that the input is copied before it is encoded.
TEST_F(DeviceReductionsOf, CallsNeitherReadNorWaitBeforeTheirStream) {
  auto& runtime = tested_runtime();
  if (runtime.name() != "emulated") GTEST_SKIP() << "only the emulated device counts who waits";
  constexpr int ranks = 3, root = 1;
  constexpr std::size_t count = 1001;
  const RankInputs inputs(ranks, ElementType::f32, ranks * count);
  for (const char* codec : {"thc", "raw", "signcount", "sketch:cells=f32"}) {
    SCOPED_TRACE(codec);
    kernels::emulated::set_quick_copies(codec != std::string("thc"));
    std::barrier all(ranks);
    on_ranks(ranks, [&](int rank, Communicator& communicator) {
      const Bytes& bytes = inputs.bytes(rank);
      const Options options = options_of(codec, "ring");
      ReduceScatterPlan here(communicator, count, ElementType::f32, options);
      ReduceScatterPlan there(communicator, count, ElementType::f32, options);
      ReducePlan sum_here(communicator, inputs.count(), ElementType::f32, root, options);
      ReducePlan sum_there(communicator, inputs.count(), ElementType::f32, root, options);
      const DeviceVector before(bytes), input(bytes.size()), output(4 * count), sum(bytes.size());
      const kernels::DeviceStream stream = runtime.make_stream();
      there.prepare(input.data(), output.data());
      sum_there.prepare(input.data(), sum.data());
      Bytes expected_sum(bytes.size());
      sum_here.execute(bytes.data(), expected_sum.data());
      Bytes expected(4 * count);
      here.execute(bytes.data(), expected.data());
      all.arrive_and_wait();
      kernels::emulated::hold(stream, true);
      runtime.copy_within(input.data(), before.data(), bytes.size(), stream);
      there.start(input.data(), output.data(), {stream});
      sum_there.start(input.data(), sum.data(), {stream});
      for (int test = 0; test < 100; ++test) EXPECT_FALSE(there.test() || sum_there.test());
      all.arrive_and_wait();
      EXPECT_EQ(kernels::emulated::waits_for_held(), 0u);
      all.arrive_and_wait();
      kernels::emulated::hold(stream, false);
      there.wait();
      sum_there.wait();
      runtime.synchronise(stream);
      EXPECT_TRUE(same_bytes(output.fetch(), expected));
      if (rank == root) {
        EXPECT_TRUE(same_bytes(sum.fetch(), expected_sum));
      }
      runtime.destroy_stream(stream);
    });
  }
}

}  // namespace
}  // namespace cohom::test
