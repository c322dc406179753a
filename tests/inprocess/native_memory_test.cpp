// Memory of the calls that take turns with the library below: whoever makes a kind of call once
// takes none for those of the library.

#include "agreement/short_sum.hpp"
#include "environment_variable.hpp"
#include "forwarding_transport.hpp"
#include "testing/loopback_transport.hpp"
#include "watchdog.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/plan.hpp>
#include <cohom/reductions.hpp>

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <barrier>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <thread>
#include <vector>

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COHOM_COUNTS_MEMORY
namespace cohom::test {
/// Bytes that this thread has taken by mmap() and not given back: the library's large arrays.
constinit thread_local std::size_t mapped = 0;
}  // namespace cohom::test

extern "C" void* mmap(void* address, std::size_t bytes, int protection, int flags, int file,
                      off_t offset) noexcept {
  cohom::test::mapped += bytes;
  return reinterpret_cast<void*>(
      syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}
extern "C" int munmap(void* address, std::size_t bytes) noexcept {
  cohom::test::mapped -= bytes;
  return static_cast<int>(syscall(SYS_munmap, address, bytes));
}
#endif

namespace cohom::test {
namespace {

/// Counts the workspaces that calls take, and may have none.
class CountingTransport final : public ForwardingTransport {
 public:
  using ForwardingTransport::ForwardingTransport;

  [[nodiscard]] std::unique_ptr<MessageMemory> take_memory(std::size_t bytes) override {
    if (fails || taken == most) throw std::bad_alloc();
    ++taken;
    std::this_thread::sleep_for(takes);
    return ForwardingTransport::take_memory(bytes);
  }

  int taken = 0;
  int most = -1;  ///< so many are there; -1: any number
  bool fails = false;
  std::chrono::milliseconds takes{0};
};

using Body = std::function<void(int, Communicator&, CountingTransport&)>;

void on_two_ranks(const Body& body, const LoopbackOptions& options = {}) {
  LoopbackHub hub(2, options);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      const auto transport = std::make_shared<CountingTransport>(hub.transport(rank));
      Communicator communicator(transport, {.native = hub.native_sums(rank)});
      body(rank, communicator, *transport);
    });
}

constexpr std::size_t elements = 70000;  // too many to travel with the agreement
const Options raced{.codec = "thc", .native = "auto"};

void expect_twice(const std::vector<float>& sums) {
  for (const std::size_t i : {std::size_t{0}, sums.size() - 1}) EXPECT_NEAR(sums[i], 2, 1);
}

TEST(NativeMemory, IsTakenWithTheFirstTurnOfEachWay) {
  const Watchdog watchdog("memory of races");
  on_two_ranks([&](int, Communicator& communicator, CountingTransport& transport) {
    for (const int taken : {0, 1, 2, 2, 2, 2}) {
      std::vector<float> data(elements, 1.0f);
      allreduce(std::span(data), communicator, raced);
      expect_twice(data);
      EXPECT_EQ(transport.taken, taken);
    }
    EXPECT_EQ(communicator.native_calls(), 2u);
    std::vector<float> data(elements, 1.0f);
    allreduce(std::span(data), communicator, {.codec = "thc", .native = "never"});
    EXPECT_EQ(transport.taken, 3) << "a call that does not race";
    AllreducePlan plan(communicator, elements, ElementType::f32, raced);
    EXPECT_EQ(transport.taken, 5) << "a plan, whose calls take none";
    for (int i = 0; i < 6; ++i) plan.execute(data.data(), data.data());
    EXPECT_EQ(transport.taken, 5);
  });
}

/// Who has memory for one of its own ways alone goes that way, and so do the others.
TEST(NativeMemory, IsMissingForTheThirdWay) {
  const Watchdog watchdog("no memory for a third way");
  on_two_ranks([&](int rank, Communicator& communicator, CountingTransport& transport) {
    if (rank == 0) transport.most = 1;
    for (int i = 0; i < 10; ++i) {
      std::vector<float> data(elements, 1.0f);
      allreduce(std::span(data), communicator, raced);
      expect_twice(data);
    }
    EXPECT_EQ(transport.taken, rank == 0 ? 1 : 2);
    EXPECT_EQ(communicator.native_calls(), 1u);
    EXPECT_EQ(communicator.third_calls(), 0u);
    if (rank == 0) transport.most = 2;
    std::vector<float> data(elements, 1.0f);
    AllreducePlan(communicator, elements, ElementType::f32, raced)
        .execute(data.data(), data.data());
    expect_twice(data);
    if (rank == 0) transport.most = -1;
    for (int i = 0; i < 20; ++i) allreduce(std::span(data), communicator, raced);
    EXPECT_GT(communicator.third_calls(), 0u) << "there is memory again";
  });
}

TEST(NativeMemory, CountsOnceItIsTaken) {
  const Watchdog watchdog("memory that counts");
  const std::size_t before = plan_memory_use().bytes;
  std::barrier<> both(2);
  on_two_ranks([&](int, Communicator& communicator, CountingTransport&) {
    std::vector<float> data(elements, 1.0f);
    const auto bytes_after_call = [&] {
      allreduce(std::span(data), communicator, raced);
      both.arrive_and_wait();
      const std::size_t bytes = plan_memory_use().bytes;
      both.arrive_and_wait();
      return bytes;
    };
    EXPECT_EQ(bytes_after_call(), before) << "by the library below";
    const std::size_t of_own_way = bytes_after_call();
    EXPECT_GT(of_own_way, before) << "by the codec";
    const std::size_t taken = bytes_after_call();
    EXPECT_GT(taken, of_own_way) << "by the third way";
    EXPECT_EQ(bytes_after_call(), taken);
    const AllreducePlan plan(communicator, elements, ElementType::f32, raced);
    EXPECT_GT(plan.describe().workspace_bytes, 0u);
  });
  EXPECT_EQ(plan_memory_use().bytes, before);
}

/// A vector that travels with the agreement in turns of the third way, for which there is no route
/// until some rank cannot add it so.
TEST(NativeMemory, CountsLongVectorsThatTravel) {
  const Watchdog watchdog("memory of vectors that travel");
  constexpr std::size_t travel = 30000;
  const std::size_t before = plan_memory_use().bytes;
  std::barrier<> both(2);
  on_two_ranks([&](int, Communicator& communicator, CountingTransport& transport) {
    std::vector<float> data(travel, 1.0f);
    std::vector<std::size_t> counted;
    for (int call = 0; call < 4; ++call) {
      data.assign(travel, 1.0f);
      allreduce(std::span(data), communicator, raced);
      expect_twice(data);
      both.arrive_and_wait();
      counted.push_back(plan_memory_use().bytes - before);
      both.arrive_and_wait();
    }
    EXPECT_EQ(communicator.third_calls(), 1u);
    EXPECT_EQ(transport.taken, 1) << "by the codec";
    EXPECT_EQ(counted[0], 0u);
    const std::size_t bytes = travel * sizeof(float);
    const std::size_t memory = 2 * bytes - ShortSum::section_bytes;  // of a rank
    EXPECT_EQ(counted[2], counted[1] + 2 * memory);
    EXPECT_EQ(counted[3], counted[2]);
    const AllreducePlan plan(communicator, travel, ElementType::f32, raced);
    EXPECT_GE(plan.describe().workspace_bytes, memory);
    EXPECT_EQ(plan.describe().third_codec, "raw");
  });
  EXPECT_EQ(plan_memory_use().bytes, before);
}

/// On a board what two ranks post lies in their windows; a mean is made elsewhere.
TEST(NativeMemory, CountsWhatIsAddedOfPosts) {
  const Watchdog watchdog("memory of vectors on a board");
  constexpr std::size_t posted = 30000;
  const std::size_t before = plan_memory_use().bytes;
  std::barrier<> both(2);
  on_two_ranks(
      [&](int, Communicator& communicator, CountingTransport& transport) {
        for (const auto& [op, vectors] :
             {std::pair{ReduceOp::sum, std::size_t{0}}, {ReduceOp::mean, std::size_t{1}}}) {
          std::vector<float> data(posted, 1.0f);
          const Options options{.codec = "thc", .op = op, .native = "never"};
          allreduce(std::span(data), communicator, options);
          EXPECT_EQ(data, std::vector<float>(posted, op == ReduceOp::sum ? 2.0f : 1.0f));
          both.arrive_and_wait();
          const std::size_t bytes = vectors * posted * sizeof(float);  // of a rank
          EXPECT_EQ(plan_memory_use().bytes, before + 2 * bytes);
          both.arrive_and_wait();
          const AllreducePlan plan(communicator, posted, ElementType::f32, options);
          EXPECT_GE(plan.describe().workspace_bytes, bytes);
          EXPECT_EQ(plan.describe().codec, "raw");
          both.arrive_and_wait();
        }
        EXPECT_EQ(transport.taken, 2) << "by the plans";
      },
      {.nodes = {0, 0}, .node_windows = true});
  EXPECT_EQ(plan_memory_use().bytes, before);
}

/// Plans that went natively at first take their workspaces in calls that find them.
TEST(NativeMemory, HasABudget) {
  const Watchdog watchdog("a budget");
  constexpr std::size_t kinds = 16, calls = 4;
  std::size_t bytes = 0;  // of a rank's plan
  on_two_ranks([&](int rank, Communicator& communicator, CountingTransport&) {
    const AllreducePlan plan(communicator, elements + kinds, ElementType::f32, raced);
    if (rank == 0) bytes = plan.describe().workspace_bytes;
  });
  const std::size_t before = plan_memory_use().bytes;
  const EnvironmentVariable budget("COHOM_PLAN_MEMORY", std::to_string(before + 2 * bytes));
  std::barrier<> both(2);
  on_two_ranks(
      [&](int, Communicator& communicator, CountingTransport& transport) {
        for (std::size_t call = 0; call < calls * kinds; ++call) {
          std::vector<float> data(elements + call % kinds, 1.0f);
          allreduce(std::span(data), communicator, raced);
          expect_twice(data);
          // The newest plan of each rank may be beyond the budget, and those of rank 1 are longer.
          EXPECT_LE(plan_memory_use().bytes, before + 5 * bytes);
        }
        both.arrive_and_wait();
        EXPECT_GT(transport.taken, int(kinds)) << "some plans are made anew";
        both.arrive_and_wait();
      },
      {.before_native_sum = [] { std::this_thread::sleep_for(std::chrono::milliseconds(3)); }});
  EXPECT_EQ(plan_memory_use().bytes, before);
}

/// Copies of parts are no workspace of the transport's. 30000 elements are no multiple of a block.
TEST(NativeMemory, OfPartsIsTakenWithTheFirstTurnOfTheOwnWay) {
#ifdef COHOM_COUNTS_MEMORY
  const Watchdog watchdog("memory of parts");
  on_two_ranks([&](int rank, Communicator& communicator, CountingTransport&) {
    const std::vector<float> input(2 * elements, 1.0f);
    std::vector<float> sum(2 * elements);
    const auto scatter = [&] {
      const std::size_t before = mapped;
      reduce_scatter(input.data(), sum.data(), elements, ElementType::f32, communicator, raced);
      EXPECT_NEAR(sum[elements - 1], 2, 1);
      return mapped - before;
    };
    const auto sum_up = [&] {
      const std::size_t before = mapped;
      reduce(input.data(), rank == 0 ? sum.data() : nullptr, sum.size(), ElementType::f32, 0,
             communicator, raced);
      return mapped - before;
    };
    constexpr std::size_t vector_bytes = 2 * elements * sizeof(float);
    EXPECT_EQ(scatter(), 0u);
    EXPECT_GT(scatter(), vector_bytes);
    EXPECT_EQ(scatter(), 0u);
    EXPECT_EQ(scatter(), 0u);
    EXPECT_EQ(sum_up(), 0u);
    EXPECT_GT(sum_up(), 0u);
  });
#else
  GTEST_SKIP() << "sanitizers have an mmap of their own";
#endif
}

/// Each call has a length of its own, and so a plan: those of the own ways take much longer for
/// their memory than MPI does for a sum, and without it much less.
TEST(NativeMemory, IsNotInTheTimesOfTheRace) {
  const Watchdog watchdog("times without memory");
  on_two_ranks(
      [&](int, Communicator& communicator, CountingTransport& transport) {
        transport.takes = std::chrono::milliseconds(90);
        std::size_t count = elements;
        const auto native_calls = [&](int calls) {
          const std::uint64_t before = communicator.native_calls();
          for (int i = 0; i < calls; ++i) {
            std::vector<float> data(++count, 1.0f);
            allreduce(std::span(data), communicator, raced);
            expect_twice(data);
          }
          return communicator.native_calls() - before;
        };
        native_calls(13);
        EXPECT_LE(native_calls(3), 1u) << "another way has won";
        EXPECT_GE(transport.taken, 8);
      },
      {.before_native_sum = [] { std::this_thread::sleep_for(std::chrono::milliseconds(30)); }});
}

/// Rank 0 waits for the call, and hears that rank 1 does not: it goes the own way.
TEST(NativeMemory, IsTakenLateWhereAnotherRankDoesNotWait) {
  const Watchdog watchdog("memory that is taken late");
  on_two_ranks([&](int rank, Communicator& communicator, CountingTransport& transport) {
    for (int i = 0; i < 3; ++i) {
      std::vector<float> data(elements, 1.0f);
      if (rank == 0)
        allreduce(std::span(data), communicator, raced);
      else
        allreduce_start(data.data(), data.data(), data.size(), ElementType::f32, communicator,
                        raced)
            .wait();
      expect_twice(data);
      EXPECT_EQ(transport.taken, 1);
    }
    EXPECT_EQ(communicator.native_calls(), 0u);
  });
}

/// All ranks hear of it before the call, but where it shows in the middle of one.
TEST(NativeMemory, IsMissing) {
  const Watchdog watchdog("memory that is missing");
  on_two_ranks([&](int rank, Communicator& communicator, CountingTransport& transport) {
    std::vector<float> data(elements, 1.0f);
    const auto error = [&](const Options& options, bool waits) -> std::string {
      try {
        if (waits)
          allreduce(std::span(data), communicator, options);
        else
          allreduce_start(data.data(), data.data(), data.size(), ElementType::f32, communicator,
                          options)
              .wait();
      } catch (const Error& caught) {
        return caught.what();
      }
      return {};
    };
    transport.fails = rank == 0;
    EXPECT_EQ(error(raced, true), "") << "MPI's own sum needs none";
    EXPECT_NE(error(raced, true).find("memory"), std::string::npos);
    transport.fails = false;
    data.assign(elements, 1.0f);
    EXPECT_EQ(error(raced, true), "") << "the next call";
    expect_twice(data);
    EXPECT_EQ(transport.taken, 1);
    EXPECT_EQ(communicator.native_calls(), 1u);

    transport.fails = rank == 0;
    EXPECT_THROW(AllreducePlan(communicator, elements, ElementType::f32, raced), Error);
    transport.fails = false;
    data.assign(elements, 1.0f);
    AllreducePlan(communicator, elements, ElementType::f32, raced)
        .execute(data.data(), data.data());
    expect_twice(data);

    transport.fails = rank == 0;
    Options hurried = raced;
    hurried.codec = "packed";
    if (rank == 1) hurried.timeout = 0.2;
    const std::string late = error(hurried, rank == 0);
    EXPECT_NE(late.find(rank == 0 ? "memory" : "the timeout"), std::string::npos) << late;
  });
}

}  // namespace
}  // namespace cohom::test
