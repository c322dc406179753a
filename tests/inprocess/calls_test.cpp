// Several calls in flight: on one communicator, waited for in any order, more than a channel number
// can tell apart, and on two communicators at once. Each must give what it gives alone.

#include "loopback_ranks.hpp"
#include "rank_inputs.hpp"
#include "same_bytes.hpp"
#include "schedule/algorithms/algorithm.hpp"
#include "watchdog.hpp"

#include <cohom/allreduce.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace cohom::test {
namespace {

/// One call of a mixed sequence.
struct Call {
  RankInputs inputs;
  Options options;
};

/// Calls of different codecs, algorithms, types and sizes.
std::vector<Call> mixed_calls(int ranks, std::size_t count, std::uint64_t seed) {
  const char* const codecs[] = {"raw", "thc", "thc:scale=global", "thc:levels=full,rotation=16"};
  const std::size_t sizes[] = {1, 257, 0, 5000, 40, 1111, 3000};
  std::vector<Call> calls;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& algorithm = algorithm_table()[i % algorithm_table().size()];
    calls.push_back(
        {RankInputs(ranks, all_element_types[i % 3], sizes[i % std::size(sizes)], seed + i),
         {.codec = codecs[i / 2 % std::size(codecs)],
          .algorithm = std::string(algorithm.name),
          .segment = 512}});
  }
  return calls;
}

Request start(const Call& call, Bytes& output, Communicator& communicator) {
  const Bytes& input = call.inputs.bytes(communicator.rank());
  output.assign(input.size(), std::byte{0xee});
  return allreduce_start(input.data(), output.data(), call.inputs.count(), call.inputs.type(),
                         communicator, call.options);
}

/// One after the other on a communicator of their own: the results all others are held against.
std::vector<Bytes> one_by_one(std::span<const Call> calls, int ranks) {
  std::vector<Bytes> results(calls.size());
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    for (std::size_t i = 0; i < calls.size(); ++i) {
      Bytes output;
      start(calls[i], output, communicator).wait();
      if (rank == 0) results[i] = output;
    }
  });
  return results;
}

void expect_results(std::span<const Call> calls, std::span<const Bytes> found,
                    std::span<const Bytes> expected, int rank) {
  for (std::size_t i = 0; i < calls.size(); ++i)
    EXPECT_TRUE(same_bytes(found[i], expected[i]))
        << "call " << i << " on rank " << rank << ", " << calls[i].options.codec << " "
        << calls[i].options.algorithm << " " << calls[i].inputs.name();
}

/// Starts all calls, then waits for them in an order of the rank's own.
void start_all_wait_in_any_order(std::span<const Call> calls, std::span<const Bytes> expected,
                                 Communicator& communicator) {
  std::vector<Bytes> outputs(calls.size());
  std::vector<Request> requests;
  for (std::size_t i = 0; i < calls.size(); ++i)
    requests.push_back(start(calls[i], outputs[i], communicator));
  std::vector<std::size_t> order(calls.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), std::mt19937_64(std::uint64_t(communicator.rank())));
  for (std::size_t i : order) requests[i].wait();
  expect_results(calls, outputs, expected, communicator.rank());
}

TEST(CallsInFlight, WaitedForInDifferentOrders) {
  const LoopbackOptions weathers[] = {
      {}, {.eager_limit = 0}, {.eager_limit = 0, .delay = 128, .seed = 21}};
  for (int ranks : {1, 2, 3, 5}) {
    const auto calls = mixed_calls(ranks, 40, 100);
    const auto expected = one_by_one(calls, ranks);
    for (const auto& weather : weathers) {
      const Watchdog watchdog("calls in flight, " + std::to_string(ranks) + " ranks");
      on_ranks(ranks, weather, [&](int, Communicator& communicator) {
        start_all_wait_in_any_order(calls, expected, communicator);
      });
    }
  }
}

/// A rank whose call is over makes no progress any more, so nothing it sent may still need it.
TEST(Calls, EndWhenEverythingHasLeft) {
  constexpr int ranks = 4;
  const Watchdog watchdog("sends that linger");
  const auto calls = mixed_calls(ranks, 16, 40);
  const auto expected = one_by_one(calls, ranks);
  for (std::size_t count = 1; count <= calls.size(); ++count)  // each is the last one once
    on_ranks(ranks, {.eager_limit = 1 << 20, .lingering_sends = true},
             [&](int rank, Communicator& communicator) {
               std::vector<Bytes> outputs(count);
               for (std::size_t i = 0; i < count; ++i)
                 start(calls[i], outputs[i], communicator).wait();
               expect_results(std::span(calls).first(count), outputs, expected, rank);
             });
  on_ranks(ranks, {.eager_limit = 1 << 20, .lingering_sends = true},
           [&](int rank, Communicator& communicator) {
             const Error error(ErrorKind::invalid_argument, "of rank " + std::to_string(rank));
             EXPECT_THROW(allreduce_fail(error, communicator).wait(), Error);
           });
}

/// More than there are channel numbers.
TEST(CallsInFlight, ThreeHundredOutstanding) {
  constexpr int ranks = 3;
  const Watchdog watchdog("300 calls");
  const auto calls = mixed_calls(ranks, 300, 1000);
  const auto expected = one_by_one(calls, ranks);
  on_ranks(ranks, {.delay = 64, .seed = 22}, [&](int, Communicator& communicator) {
    start_all_wait_in_any_order(calls, expected, communicator);
  });
}

/// A request that is replaced by the next call's dies after that call has started, perhaps on the
/// same plan, which is in use then.
TEST(CallsInFlight, AnOldRequestDoesNotFreeThePlanOfANewOne) {
  constexpr int ranks = 2;
  const Watchdog watchdog("replaced requests");
  std::vector<Call> calls;
  for (std::uint64_t i = 0; i < 4; ++i)
    calls.push_back({RankInputs(ranks, ElementType::f32, 5000, 50 + i),
                     {.codec = "thc", .algorithm = "ring", .segment = 256}});
  const auto expected = one_by_one(calls, ranks);
  on_ranks(ranks, {.delay = 128, .seed = 23}, [&](int rank, Communicator& communicator) {
    std::vector<Bytes> outputs(calls.size());
    Request request = start(calls[0], outputs[0], communicator);
    request.wait();
    request = start(calls[1], outputs[1], communicator);
    Request other = start(calls[2], outputs[2], communicator);
    Request third = start(calls[3], outputs[3], communicator);
    third.wait();
    other.wait();
    request.wait();
    expect_results(calls, outputs, expected, rank);
  });
}

/// test() of one call, or progress() alone, brings all calls to their ends.
TEST(CallsInFlight, ProgressAloneIsEnough) {
  constexpr int ranks = 3;
  const Watchdog watchdog("progress");
  const auto calls = mixed_calls(ranks, 10, 200);
  const auto expected = one_by_one(calls, ranks);
  on_ranks(ranks, {.delay = 64, .seed = 24}, [&](int rank, Communicator& communicator) {
    std::vector<Bytes> outputs(calls.size());
    std::vector<Request> requests;
    for (std::size_t i = 0; i < calls.size(); ++i)
      requests.push_back(start(calls[i], outputs[i], communicator));
    while (outputs != expected) {
      communicator.progress();
      std::this_thread::yield();
    }
    for (Request& request : requests)
      while (!request.test()) std::this_thread::yield();  // its sends may still be leaving
    expect_results(calls, outputs, expected, rank);
  });
}

TEST(CallsInFlight, DroppedRequestsWait) {
  constexpr int ranks = 4;
  const Watchdog watchdog("dropped requests");
  const auto calls = mixed_calls(ranks, 12, 300);
  const auto expected = one_by_one(calls, ranks);
  on_ranks(ranks, {.eager_limit = 0, .delay = 64, .seed = 25},
           [&](int rank, Communicator& communicator) {
             std::vector<Bytes> outputs(calls.size());
             for (std::size_t i = 0; i < calls.size(); ++i)
               start(calls[i], outputs[i], communicator);
             expect_results(calls, outputs, expected, rank);
           });
}

TEST(CallsInFlight, CommunicatorsAreIndependent) {
  constexpr int ranks = 3;
  const Watchdog watchdog("two communicators");
  const auto calls = mixed_calls(ranks, 20, 400);
  const auto expected = one_by_one(calls, ranks);
  const LoopbackOptions rough{.eager_limit = 0, .delay = 100, .seed = 26};
  LoopbackHub second(ranks, rough);
  on_ranks(ranks, rough, [&](int rank, Communicator& first) {
    Communicator other = second.communicator(rank);
    std::vector<Bytes> here(calls.size());
    std::vector<Bytes> there(calls.size());
    std::vector<Request> requests;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      // The ranks need not alternate alike: order counts within a communicator only.
      if (rank != 0) requests.push_back(start(calls[i], here[i], first));
      requests.push_back(start(calls[i], there[i], other));
      if (rank == 0) requests.push_back(start(calls[i], here[i], first));
    }
    // Waiting on one communicator does not advance the other, so all are tested in turn.
    while (std::ranges::count_if(requests, [](Request& request) { return !request.test(); }) != 0)
      std::this_thread::yield();
    expect_results(calls, here, expected, rank);
    expect_results(calls, there, expected, rank);
  });
}

/// A transport with few channels bounds the calls in flight: the next one waits for a number.
TEST(CallsInFlight, WaitForAChannel) {
  const Watchdog watchdog("few channels");
  const auto calls = mixed_calls(3, 20, 61);
  const auto expected = one_by_one(calls, 3);
  for (const std::uint32_t channels : {1u, 3u})
    on_ranks(3, {.eager_limit = 0, .channels = channels, .delay = 64},
             [&](int rank, Communicator& communicator) {
               std::vector<Bytes> outputs(calls.size());
               std::vector<Request> requests;
               for (std::size_t i = 0; i < calls.size(); ++i)
                 requests.push_back(start(calls[i], outputs[i], communicator));
               for (std::size_t i = calls.size(); i-- > 0;) {
                 requests[i].wait();
                 EXPECT_TRUE(same_bytes(outputs[i], expected[i]))
                     << "call " << i << " rank " << rank << " of " << channels << " channels";
               }
             });
}

/// As with MPI, ranks may wait for calls of different communicators in different orders.
TEST(CallsInFlight, OfTwoCommunicatorsWaitedForInDifferentOrders) {
  const Watchdog watchdog("two communicators");
  LoopbackHub hub(2, {.eager_limit = 0});
  on_ranks(2, {.eager_limit = 0}, [&](int rank, Communicator& first) {
    Communicator second = hub.communicator(rank);
    std::vector<float> data[2] = {std::vector<float>(5000, 1.0f), std::vector<float>(5000, 2.0f)};
    const Options options{.codec = "raw", .algorithm = "ring"};
    Request requests[2];
    requests[0] =
        allreduce_start(data[0].data(), data[0].data(), 5000, ElementType::f32, first, options);
    requests[1] =
        allreduce_start(data[1].data(), data[1].data(), 5000, ElementType::f32, second, options);
    requests[rank].wait();
    requests[1 - rank].wait();
    EXPECT_EQ(data[0], std::vector<float>(5000, 2.0f));
    EXPECT_EQ(data[1], std::vector<float>(5000, 4.0f));
  });
}

/// The typed forms take whatever holds elements in one piece.
TEST(TypedAllreduce, TakesVectorsArraysAndSpans) {
  on_ranks(2, [](int, Communicator& communicator) {
    const Options options{.codec = "raw"};
    const std::vector<float> input(10, 1.0f);
    std::vector<float> output(10);
    allreduce(input, output, communicator, options);
    EXPECT_EQ(output, std::vector<float>(10, 2.0f));
    allreduce(std::span(input), std::span(output), communicator, options);
    allreduce(output, communicator, options);
    EXPECT_EQ(output, std::vector<float>(10, 4.0f));
    std::array<double, 3> array = {1, 2, 3};
    allreduce(array, communicator, options);
    allreduce(std::span(array), communicator, options);
    EXPECT_EQ(array, (std::array<double, 3>{4, 8, 12}));
    bfloat16 halves[4] = {};
    allreduce(halves, communicator, options);
  });
}

}  // namespace
}  // namespace cohom::test
