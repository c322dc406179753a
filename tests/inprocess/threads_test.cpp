// Workers: whoever runs a slice of codec work, bits, errors and ends of calls are the same.

#include "altering_transport.hpp"
#include "base/tags.hpp"
#include "base/worker_pool.hpp"
#include "call/communicator_impl.hpp"
#include "codec_specs.hpp"
#include "codecs/codec_table.hpp"
#include "loopback_ranks.hpp"
#include "plan/plan_workers.hpp"
#include "rank_inputs.hpp"
#include "same_bytes.hpp"
#include "testing/loopback_transport.hpp"
#include "thoroughness.hpp"
#include "watchdog.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/plan.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace cohom::test {
namespace {

/// Workers take slices of any length, and pieces are short. Nobody takes them back before a worker
/// has a core.
constexpr Tuning any_slice{.min_given_bytes = 0, .takes_back = false};
constexpr std::size_t segment = 1024;

/// Not whole blocks, and with elements that no codec can express.
RankInputs inputs_of(int ranks, ElementType type) {
  RankInputs inputs(ranks, type, 20011, 5);
  const auto spoil = [&](int rank, std::size_t element, double value) {
    const Bytes bytes = to_bytes(type, std::vector<double>{value});
    std::memcpy(inputs.mutable_bytes(rank).data() + element * bytes.size(), bytes.data(),
                bytes.size());
  };
  spoil(0, 19000, std::numeric_limits<double>::infinity());
  spoil(ranks - 1, 300, std::numeric_limits<double>::quiet_NaN());
  return inputs;
}

std::vector<std::string> specs_of(int ranks) {
  std::vector<std::string> specs;
  for (const CodecSpec& sample : specs_for(ranks)) {
    if (races_only &&  // one of each codec
        find_codec(parse_spec(sample.spec).name).samples[0].spec != sample.spec)
      continue;
    specs.emplace_back(sample.spec);
  }
  return specs;
}

/// Two merges of recursive halving read one slot: one may be over while the other reads.
std::vector<std::string> algorithms_of(int ranks) {
  if (ranks == 1) return {"ring"};
  if (races_only) return {"direct", "recursive_doubling", "recursive_halving"};
  return {"direct", "recursive_doubling", "recursive_halving", "mixed_radix"};
}

/// What a rank gets: two calls, so that what a codec keeps is seen, and one in place.
std::vector<Bytes> results(Communicator& communicator, const RankInputs& inputs,
                           const std::string& threads) {
  std::vector<Bytes> all;
  for (const std::string& spec : specs_of(inputs.ranks()))
    for (const std::string& algorithm : algorithms_of(inputs.ranks())) {
      AllreducePlan plan(
          communicator, inputs.count(), inputs.type(),
          {.codec = spec, .algorithm = algorithm, .segment = segment, .threads = threads});
      Bytes source = inputs.bytes(communicator.rank());
      Bytes target(source.size());
      for (int call = 0; call < 2; ++call) {
        plan.execute(source.data(), target.data());
        all.push_back(target);
      }
      plan.execute(source.data(), source.data());
      all.push_back(std::move(source));
    }
  return all;
}

class ThreadsOf : public testing::TestWithParam<int> {};

TEST_P(ThreadsOf, DoNotChangeABit) {
  const int ranks = GetParam();
  const std::vector<std::string> numbers =
      races_only ? std::vector<std::string>{"2"} : std::vector<std::string>{"1", "3", "8"};
  for (const ElementType type : {ElementType::f32, ElementType::bf16}) {
    if (type != ElementType::f32 && (sanitized || ranks != 2)) continue;
    const Watchdog watchdog(std::to_string(ranks) + " ranks " + std::string(name_of(type)));
    const RankInputs inputs = inputs_of(ranks, type);
    on_ranks(ranks, [&](int rank, Communicator& communicator) {
      const auto expected = results(communicator, inputs, "0");
      communicator.impl().tuning = any_slice;
      for (const std::string& threads : numbers) {
        const std::size_t workers = std::stoul(threads);
        const auto pool = WorkerPool::shared(
            workers, choose_workers(workers, communicator.topology().cores).hardware_threads);
        const std::uint64_t begun = pool->jobs_begun();
        const auto found = results(communicator, inputs, threads);
        EXPECT_GT(pool->jobs_begun(), begun + 100) << threads << " workers had nothing to do";
        ASSERT_EQ(found.size(), expected.size());
        for (std::size_t i = 0; i < found.size(); ++i)
          EXPECT_TRUE(same_bytes(found[i], expected[i]))
              << "result " << i << " of rank " << rank << ", threads " << threads << ", "
              << inputs.name();
      }
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, ThreadsOf, testing::Values(1, 2, 3),
                         testing::PrintToStringParamName());

/// Rank 1's words of the payload are nonsense, which a worker of rank 0 finds. The vectors are gone
/// right after the call, whatever other slices workers had begun.
TEST(Threads, AnErrorInAWorkerIsTheCalls) {
  const Watchdog watchdog("an error in a worker");
  constexpr int ranks = 2;
  for (int repeat = 0; repeat < 3; ++repeat) {
    LoopbackHub hub(ranks);
    std::vector<std::string> errors(ranks);
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        std::shared_ptr<Transport> transport = hub.transport(rank);
        if (rank == 1)
          transport = std::make_shared<AlteringTransport>(
              transport, [](std::vector<std::byte>& bytes, int, std::uint32_t tag) {
                if (!is_agreement_tag(tag)) std::ranges::fill(bytes, std::byte{0xff});
                return true;
              });
        Communicator communicator(transport);
        communicator.impl().tuning = any_slice;
        std::vector<float> data(100'000, 1.0f);
        try {
          allreduce(std::span(data), communicator,
                    {.codec = "packed:abs_error=0.001",
                     .algorithm = "direct",
                     .segment = segment,
                     .timeout = 0.1,
                     .threads = "3"});
        } catch (const Error& error) {
          errors[std::size_t(rank)] = error.what();
        }
      });
    threads.clear();
    EXPECT_NE(errors[0].find("does not fit its headers"), std::string::npos) << errors[0];
  }
}

/// Half of the messages never come, and workers are in slices when the time is over.
TEST(Threads, ATimeoutWaitsForWorkers) {
  const Watchdog watchdog("a timeout");
  constexpr int ranks = 2;
  LoopbackHub hub(ranks);
  std::vector<std::string> errors(ranks);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      std::shared_ptr<Transport> transport = hub.transport(rank);
      if (rank == 1)
        transport = std::make_shared<AlteringTransport>(
            transport, [sent = 0](std::vector<std::byte>&, int, std::uint32_t tag) mutable {
              return is_agreement_tag(tag) || ++sent < 20;
            });
      Communicator communicator(transport);
      communicator.impl().tuning = any_slice;
      std::vector<float> data(100'000, 1.0f);
      try {
        allreduce(std::span(data), communicator,
                  {.codec = "thc",
                   .algorithm = "direct",
                   .segment = segment,
                   .timeout = 0.1,
                   .threads = "3"});
      } catch (const Error& error) {
        errors[std::size_t(rank)] = error.what();
      }
    });
  threads.clear();
  EXPECT_NE(errors[0].find("no progress for 0.1 s, the timeout: waits for rank 1"),
            std::string::npos)
      << errors[0];
}

TEST(Threads, AreANumberOrAuto) {
  on_ranks(2, [](int, Communicator& communicator) {
    for (const char* const threads : {"-1", "256", "many", "1.5", " 1"}) {
      try {
        const AllreducePlan plan(communicator, 1, ElementType::f32, {.threads = threads});
        ADD_FAILURE() << threads;
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
        EXPECT_NE(std::string(error.what())
                      .find("threads=" + std::string(threads) +
                            " is neither auto nor a number from 0 to 255"),
                  std::string::npos)
            << error.what();
      }
    }
    AllreducePlan(communicator, 1, ElementType::f32, {.threads = "255"});
  });
}

UsableCore core(std::uint32_t number, bool alone) {
  return {.number = number, .threads = {number, number + 64}, .alone = alone};
}

TEST(ChooseWorkers, TakesCoresThatNobodyElseHas) {
  std::vector<UsableCore> cores;
  EXPECT_EQ(choose_workers({}, cores).workers, 0u);
  EXPECT_NE(choose_workers({}, cores).reason.find("nobody knows"), std::string::npos);
  cores.push_back(core(0, true));
  EXPECT_EQ(choose_workers({}, cores).workers, 0u) << "it is the caller's";
  cores.push_back(core(1, false));
  EXPECT_EQ(choose_workers({}, cores).workers, 0u);
  cores.push_back(core(2, true));
  const WorkerChoice one = choose_workers({}, cores);
  EXPECT_EQ(one.workers, 1u);
  EXPECT_EQ(one.hardware_threads, (std::vector<std::uint32_t>{0, 2, 64, 66}));
  EXPECT_EQ(one.reason, "2 cores are this rank's alone");
  EXPECT_EQ(choose_workers(1, cores).hardware_threads, one.hardware_threads);
  EXPECT_EQ(choose_workers(2, cores).hardware_threads,
            (std::vector<std::uint32_t>{0, 1, 2, 64, 65, 66}))
      << "three threads on two cores, where there is another one";
  for (std::uint32_t number = 3; number < 64; ++number) cores.push_back(core(number, true));
  EXPECT_EQ(choose_workers({}, cores).workers, 15u);
  EXPECT_EQ(choose_workers(40, cores).workers, 40u);
  EXPECT_EQ(choose_workers(0, cores).workers, 0u);
}

}  // namespace
}  // namespace cohom::test
