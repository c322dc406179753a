// algorithm=native: the vector goes to the allreduce of the library below, in an order that is the
// same on all ranks, and blocks only where no rank has anything else to do.

#include "agreement/short_sum.hpp"
#include "call/communicator_impl.hpp"
#include "loopback_ranks.hpp"
#include "rank_inputs.hpp"
#include "same_bytes.hpp"
#include "testing/loopback_transport.hpp"
#include "watchdog.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/plan.hpp>
#include <cohom/reductions.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace cohom::test {
namespace {

/// The sum in rank order, which is the loopback's.
Bytes result_of(const RankInputs& inputs, ReduceOp op) {
  const auto divided = [&]<class T>(T) {
    std::vector<T> sum(inputs.count());
    for (int rank = 0; rank < inputs.ranks(); ++rank) {
      const auto values = to_values(inputs.type(), inputs.bytes(rank));
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += T(values[i]);
    }
    std::vector<double> result;
    for (const T value : sum)
      result.push_back(op == ReduceOp::mean ? value / T(inputs.ranks()) : value);
    return to_bytes(inputs.type(), result);
  };
  return inputs.type() == ElementType::f64 ? divided(double()) : divided(float());
}

/// Each rank runs a body in a thread of its own, with a communicator without an aggregator.
void on_hub(LoopbackHub& hub, int ranks, const std::function<void(int, Communicator&)>& body) {
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      Communicator communicator(hub.transport(rank), {.native = hub.native_sums(rank)});
      body(rank, communicator);
    });
}

Options natively(ReduceOp op = ReduceOp::sum, double timeout = 0) {
  return {.codec = "thc", .algorithm = "native", .op = op, .timeout = timeout};
}

/// Where the ranks of a hub are: each on a node of its own, or all on one, with node windows and a
/// board.
enum class Place { apart, one_node };

LoopbackOptions at(Place place, int ranks, std::function<void()> before_native_sum = {}) {
  LoopbackOptions options{.before_native_sum = std::move(before_native_sum)};
  if (place == Place::apart) return options;
  options.nodes.assign(std::size_t(ranks), 0);
  options.node_windows = true;
  return options;
}

class Native : public testing::TestWithParam<int> {};
class NativeAt : public testing::TestWithParam<Place> {};

INSTANTIATE_TEST_SUITE_P(Places, NativeAt, testing::Values(Place::apart, Place::one_node),
                         [](const auto& tested) {
                           return tested.param == Place::apart ? "Apart" : "OneNode";
                         });

TEST_P(Native, SumsAndMeans) {
  const Watchdog watchdog("native sums and means");
  for (const Place place : {Place::apart, Place::one_node})
    for (const ElementType type : {ElementType::f32, ElementType::f64})
      for (const std::size_t count : {0, 1, 1000, 70001})
        for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean}) {
          const RankInputs inputs(GetParam(), type, count);
          const Bytes expected = result_of(inputs, op);
          LoopbackHub hub(GetParam(), at(place, GetParam()));
          on_hub(hub, GetParam(), [&](int rank, Communicator& communicator) {
            Bytes output(expected.size());
            allreduce(inputs.bytes(rank).data(), output.data(), count, type, communicator,
                      natively(op));
            EXPECT_TRUE(same_bytes(output, expected)) << inputs.name();
            Bytes both = inputs.bytes(rank);
            allreduce(both.data(), both.data(), count, type, communicator, natively(op, 60));
            EXPECT_TRUE(same_bytes(both, expected)) << inputs.name() << " in place, with a timeout";
            AllreducePlan plan(communicator, count, type, natively(op));
            for (int i = 0; i < 2; ++i) {
              output.assign(output.size(), std::byte{});
              plan.execute(inputs.bytes(rank).data(), output.data());
              EXPECT_TRUE(same_bytes(output, expected)) << inputs.name() << " by a plan";
            }
            EXPECT_EQ(plan.describe().algorithm, "native");
            EXPECT_EQ(plan.describe().codec, "raw");
            EXPECT_TRUE(plan.describe().bypass);
          });
          EXPECT_EQ(hub.native_sums_that_blocked(), 3 * std::size_t(GetParam()))
              << "all but that with a timeout";
        }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Native, testing::Values(1, 2, 3, 4, 7));

/// The user's buffers, though the codec's own parts would be padded; in place; with a copy of them.
TEST_P(Native, PartsOfASum) {
  const Watchdog watchdog("native parts of a sum");
  const int ranks = GetParam(), root = ranks / 2;
  constexpr ElementType type = ElementType::f32;
  for (const std::size_t count : {0, 1, 1000})
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean}) {
      const RankInputs inputs(ranks, type, count * std::size_t(ranks));
      const Bytes all = result_of(inputs, op);
      LoopbackHub hub(ranks);
      on_hub(hub, ranks, [&](int rank, Communicator& communicator) {
        const auto first = all.begin() + std::ptrdiff_t(4 * count) * rank;
        const Bytes own(first, first + std::ptrdiff_t(4 * count));
        for (const double timeout : {0, 60}) {
          Bytes part(own.size()), both = inputs.bytes(rank), sum(all.size());
          reduce_scatter(both.data(), part.data(), count, type, communicator,
                         natively(op, timeout));
          EXPECT_TRUE(same_bytes(part, own)) << inputs.name();
          EXPECT_TRUE(same_bytes(both, inputs.bytes(rank)));
          reduce_scatter(both.data(), both.data(), count, type, communicator,
                         natively(op, timeout));
          EXPECT_TRUE(same_bytes(std::span(both).first(own.size()), own)) << "in place";
          EXPECT_TRUE(same_bytes(std::span(both).subspan(own.size()),
                                 std::span(inputs.bytes(rank)).subspan(own.size())))
              << "written behind the part";
          reduce(inputs.bytes(rank).data(), rank == root ? sum.data() : nullptr, inputs.count(),
                 type, root, communicator, natively(op, timeout));
          both = inputs.bytes(rank);
          ReducePlan plan(communicator, inputs.count(), type, root, natively(op, timeout));
          plan.execute(both.data(), rank == root ? both.data() : nullptr);
          EXPECT_EQ(plan.describe().algorithm, "native");
          if (rank == root) EXPECT_TRUE(same_bytes(sum, all));
          EXPECT_TRUE(same_bytes(both, rank == root ? all : inputs.bytes(rank))) << "in place";
        }
      });
      EXPECT_EQ(hub.native_sums_that_blocked(), 4 * std::size_t(ranks));
    }
}

std::vector<float> ones(std::size_t count) { return std::vector<float>(count, 1.0f); }

/// Ranks complete the calls of two communicators in different orders, and some of them wait for
/// each call at once.
TEST_P(NativeAt, CallsInFlight) {
  const Watchdog watchdog("native calls in flight");
  constexpr int ranks = 3, calls = 40;
  LoopbackHub first(ranks, at(GetParam(), ranks)), second(ranks, at(GetParam(), ranks));
  on_hub(first, ranks, [&](int rank, Communicator& one) {
    Communicator other = second.communicator(rank);
    std::vector<std::vector<float>> data;
    for (std::size_t i = 0; i < calls; ++i) data.push_back(ones(100 * i + 1));
    std::vector<Request> requests(calls);
    for (std::size_t i = 0; i < calls; ++i) {
      Communicator& communicator = i % 3 == 0 ? other : one;
      const Options options =
          i % 4 == 0 ? Options{.codec = "raw", .algorithm = "ring"} : natively();
      if (rank == 0 && i % 5 == 0)
        allreduce(std::span(data[i]), communicator, options);
      else
        requests[i] = allreduce_start(data[i].data(), data[i].data(), data[i].size(),
                                      ElementType::f32, communicator, options);
    }
    for (std::size_t i = 0; i < calls; ++i) requests[rank == 1 ? i : calls - 1 - i].wait();
    for (const auto& sums : data) EXPECT_EQ(sums, std::vector<float>(sums.size(), ranks));
    if (rank == 2) EXPECT_EQ(first.native_sums_that_blocked(), 0u);
  });
}

std::string error_of(Communicator& communicator, std::size_t count, const Options& options,
                     ElementType type = ElementType::f32) {
  std::vector<double> data(count);
  try {
    allreduce(data.data(), data.data(), count, type, communicator, options);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(Native, SaysWhyItCannot) {
  LoopbackHub hub(2);
  on_hub(hub, 2, [&](int, Communicator& communicator) {
    const auto expect = [&](const std::string& words, const Options& options,
                            ElementType type = ElementType::f32) {
      const std::string error = error_of(communicator, 10, options, type);
      EXPECT_NE(error.find(words), std::string::npos) << error;
    };
    expect("codec exact promises what MPI's sums do not keep; take another algorithm",
           {.codec = "exact", .algorithm = "native"});
    expect("promises", {.codec = "packed:abs_error=1e-3", .algorithm = "native"});
    expect("keeps state, which these calls would miss",
           {.codec = "thc:error_feedback=on", .algorithm = "native", .buffer = "b"});
    expect("MPI has no type f16", natively(), ElementType::f16);
    expect("checksum=on is for messages between ranks, and algorithm native has others sum",
           {.codec = "raw", .algorithm = "native", .checksum = "on"});
    expect("algorithm native is MPI's, which sums in the caller's thread",
           {.codec = "raw", .algorithm = "native", .progress = "thread"});
    EXPECT_EQ(error_of(communicator, 10, natively()), "") << "a call after errors";
  });
  Communicator alone(LoopbackHub(1).transport(0));
  EXPECT_NE(error_of(alone, 10, natively()).find("not made from one of MPI's"), std::string::npos);
}

TEST_P(NativeAt, OneRankMakesAnotherCall) {
  const Watchdog watchdog("native beside other calls");
  LoopbackHub hub(3, at(GetParam(), 3));
  on_hub(hub, 3, [&](int rank, Communicator& communicator) {
    EXPECT_NE(error_of(communicator, rank == 1 ? 11 : 10, natively()), "");
    EXPECT_NE(error_of(communicator, 10, rank == 2 ? Options{.codec = "raw"} : natively()), "");
    const std::string codecs = error_of(communicator, 10, {.codec = rank == 2 ? "thc" : "packed"});
    EXPECT_NE(codecs.find("raw in place of thc"), std::string::npos) << codecs;
    float one = 1;
    EXPECT_THROW(
        allreduce(&one, rank == 0 ? nullptr : &one, 1, ElementType::f32, communicator, natively()),
        Error);
    EXPECT_EQ(error_of(communicator, 10, natively()), "");
  });
  EXPECT_EQ(hub.native_sums_that_blocked(), 3u);
}

TEST(Native, BypassedCallsAreCounted) {
  for (const int ranks : {1, 2, 3})
    on_ranks(ranks, [&](int, Communicator& communicator) {
      const auto bypassed = [&](std::size_t elements, const Options& options) {
        const std::uint64_t before = communicator.bypassed_calls();
        std::vector<float> data(elements, 1.0f);
        allreduce(std::span(data), communicator, options);
        return communicator.bypassed_calls() - before;
      };
      EXPECT_EQ(bypassed(100, {.codec = "thc", .native = "never"}), 1u);
      EXPECT_EQ(bypassed(0, {.codec = "thc", .native = "never"}), 1u);
      EXPECT_EQ(bypassed(100, {.codec = "raw", .native = "never"}), 0u);
      EXPECT_EQ(bypassed(100, {.codec = "thc", .algorithm = "ring", .native = "never"}), 0u);
      EXPECT_EQ(bypassed(1 << 20, {.codec = "thc", .native = "never"}), ranks == 1 ? 1u : 0u);
      const std::uint64_t before = communicator.bypassed_calls();
      std::vector<float> data(100, 1.0f);
      allreduce_start(data.data(), data.data(), data.size(), ElementType::f32, communicator,
                      {.codec = "thc"})
          .wait();
      EXPECT_EQ(communicator.bypassed_calls(), before + 1);
    });
}

Options raced() { return {.codec = "thc", .native = "auto"}; }

constexpr std::size_t raced_elements = 30000;

/// How many of so many calls were native, on each rank.
std::size_t native_calls(LoopbackHub& hub, Communicator& communicator, int calls,
                         const Options& options) {
  const std::size_t before = hub.native_sums_that_blocked();
  std::vector<float> data(raced_elements);
  for (int i = 0; i < calls; ++i) {
    data.assign(data.size(), 1.0f);
    allreduce(std::span(data), communicator, options);
    EXPECT_NEAR(data[std::size_t(i) % data.size()], communicator.ranks(), 1);
  }
  return hub.native_sums_that_blocked() - before;
}

TEST_P(NativeAt, CallsGoTheFasterWay) {
  const Watchdog watchdog("a race");
  std::atomic<bool> slow = true;
  LoopbackHub hub(2, at(GetParam(), 2, [&] {
                    if (slow) std::this_thread::sleep_for(std::chrono::milliseconds(30));
                  }));
  on_hub(hub, 2, [&](int rank, Communicator& communicator) {
    native_calls(hub, communicator, 1, raced());
    EXPECT_EQ(hub.native_sums_that_blocked(), 2u) << "the first call";
    native_calls(hub, communicator, 20, raced());
    // A rank counts the other's sums, too, which may be one call ahead or behind.
    EXPECT_LE(native_calls(hub, communicator, 30, raced()), 8u) << "rank " << rank;
    EXPECT_EQ(native_calls(hub, communicator, 20, {.codec = "thc", .native = "never"}) / 4, 0u);
  });
  slow = false;
  LoopbackHub other(2, at(GetParam(), 2));
  on_hub(other, 2, [&](int, Communicator& communicator) {
    EXPECT_GE(native_calls(other, communicator, 20, {.codec = "thc", .native = "always"}), 39u);
    EXPECT_EQ(error_of(communicator, 100, {.codec = "exact", .native = "always"}), "");
    EXPECT_NE(error_of(communicator, 100, {.codec = "raw", .native = "sometimes"})
                  .find("native=sometimes is neither auto, never nor always"),
              std::string::npos);
  });
}

/// Whether a sum has errors far above those of the order of additions.
bool is_compressed(const Bytes& result, const Bytes& sum) {
  const auto values = to_values(ElementType::f32, result);
  const auto exact = to_values(ElementType::f32, sum);
  double error = 0, largest = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    error = std::max(error, std::abs(values[i] - exact[i]));
    largest = std::max(largest, std::abs(exact[i]));
  }
  return error > 1e-4 * largest;
}

/// Where a race has a third way it gets turns, also where the plan leaves its vector uncompressed:
/// that way compresses it. All ranks take it in the same calls.
TEST(Native, ARaceHasAThirdWay) {
  const Watchdog watchdog("a race of three ways");
  constexpr int ranks = 4, calls = 20;
  for (const std::size_t elements : {std::size_t{2500}, raced_elements}) {
    const RankInputs inputs(ranks, ElementType::f32, elements);
    LoopbackHub hub(ranks);
    std::array<std::array<bool, calls>, ranks> compressed = {};
    on_hub(hub, ranks, [&](int rank, Communicator& communicator) {
      const Bytes sum = result_of(inputs, ReduceOp::sum);
      for (bool& is : compressed[std::size_t(rank)]) {
        Bytes data = inputs.bytes(rank);
        allreduce(data.data(), data.data(), elements, ElementType::f32, communicator, raced());
        is = is_compressed(data, sum);
      }
      std::size_t races = 0;
      communicator.impl().races().for_each([&](const RouteRaces::Entry& entry) {
        ++races;
        EXPECT_GE(entry.race.calls_by(RouteRace::Way::third), 2u) << entry.name();
        EXPECT_EQ(entry.name_of(RouteRace::Way::third).substr(0, 7), "thc by ");
        EXPECT_TRUE(entry.decision) << "within so many calls";
      });
      EXPECT_EQ(races, 1u);
      EXPECT_GE(communicator.third_calls(), 2u);
      EXPECT_EQ(communicator.bypassed_calls() != 0, elements == 2500);
    });
    EXPECT_EQ(std::set(compressed.begin(), compressed.end()).size(), 1u);
    EXPECT_GE(std::ranges::count(compressed.front(), true), 2);
  }
}

/// In turns of the third way the vector travels as it is, with the words of the agreement. Other
/// calls between them change nothing, nor does a rank that does not wait.
void race_with_a_sum_that_travels(int ranks, std::size_t elements, LoopbackOptions options) {
  const Watchdog watchdog("a third way without a route");
  constexpr int calls = 24;
  const std::uint64_t hops = ranks == 2 ? 1 : 2;
  const RankInputs inputs(ranks, ElementType::f32, elements);
  const Bytes sum = result_of(inputs, ReduceOp::sum);
  options.before_native_sum = [] { std::this_thread::sleep_for(std::chrono::milliseconds(3)); };
  LoopbackHub hub(ranks, options);
  on_hub(hub, ranks, [&](int rank, Communicator& communicator) {
    std::uint64_t raw = 0, patient = 0;  // calls
    for (int call = 0; call < calls; ++call) {
      const bool gives_up = call % 4 == 3 && rank == 1;
      Options asked = raced();
      if (gives_up) asked.timeout = 60;
      Bytes data = inputs.bytes(rank);
      const std::uint64_t before = communicator.third_calls();
      const WireCounters sent = communicator.wire_counters();
      allreduce(data.data(), data.data(), elements, ElementType::f32, communicator, asked);
      if (call % 4 == 3) {
        EXPECT_EQ(communicator.third_calls(), before) << "a rank may give up";
        EXPECT_TRUE(is_compressed(data, sum)) << call;
        continue;
      }
      ++patient;
      if (communicator.third_calls() == before) continue;
      ++raw;
      EXPECT_FALSE(is_compressed(data, sum)) << call;
      EXPECT_EQ(communicator.wire_counters().messages_sent - sent.messages_sent,
                ShortSum::sections_of(elements * sizeof(float)) * hops);
    }
    EXPECT_GE(raw, 2u);
    EXPECT_LT(raw, patient);
    EXPECT_EQ(communicator.bypassed_calls(), raw);
    communicator.impl().races().for_each([](const RouteRaces::Entry& entry) {
      EXPECT_EQ(entry.name_of(RouteRace::Way::third), "raw by recursive_doubling");
      EXPECT_EQ(entry.name_of(RouteRace::Way::own).substr(0, 7), "thc by ");
    });
  });
}

TEST(Native, TheThirdWayMayTravelWithTheAgreement) {
  race_with_a_sum_that_travels(2, raced_elements, {});
  race_with_a_sum_that_travels(4, 16000, {.nodes = {7, 7, 9, 9}, .node_windows = true});
}

/// A race begins alike on all ranks, whatever calls of its kind each has made before: segments of
/// the user's have no third way, a call may have been an error, or on one rank in no race.
TEST(Native, RanksBeginARaceAlike) {
  const Watchdog watchdog("races that begin alike");
  constexpr int ranks = 4;
  for (const std::string before : {"segments", "a segment on one rank", "a thread on one rank"}) {
    LoopbackHub hub(ranks);
    on_hub(hub, ranks, [&](int rank, Communicator& communicator) {
      Options options = raced();
      if (before != "a segment on one rank" || rank == 0) options.segment = 8192;
      if (before == "a thread on one rank" && rank == 0) options.progress = "thread";
      EXPECT_EQ(error_of(communicator, raced_elements, options).empty(),
                before != "a segment on one rank");
      for (int i = 0; i < 20; ++i) {
        std::vector<float> data(raced_elements, 1.0f);
        allreduce(std::span(data), communicator, raced());
        EXPECT_NEAR(data.back(), ranks, 1) << before << ", call " << i;
      }
      EXPECT_GE(communicator.third_calls(), 2u) << before;
    });
  }
}

/// Each collective has a race of its own, of as many bytes as the others. Rank 1 is slow. It is the
/// root of the reduces, for which rank 0 need not wait.
TEST(Native, PartsGoTheFasterWay) {
  const Watchdog watchdog("races of parts");
  static thread_local bool slow = false;
  LoopbackHub hub(2, {.before_native_sum = [] {
                    if (slow) std::this_thread::sleep_for(std::chrono::milliseconds(20));
                  }});
  on_hub(hub, 2, [&](int rank, Communicator& communicator) {
    slow = rank == 1;
    const auto input = ones(2 * raced_elements);
    std::vector<float> output(2 * raced_elements);
    const auto calls = [&](int count) {
      const std::uint64_t before = communicator.native_calls();
      for (int i = 0; i < count; ++i) {
        output.assign(output.size(), -1);
        reduce_scatter(input.data(), output.data(), raced_elements, ElementType::f32, communicator,
                       raced());
        EXPECT_NEAR(output[std::size_t(i)], 2, 1);
        output.assign(output.size(), -1);
        reduce(input.data(), rank == 1 ? output.data() : nullptr, input.size(), ElementType::f32, 1,
               communicator, raced());
        EXPECT_NEAR(output[std::size_t(i)], rank == 1 ? 2 : -1, rank == 1 ? 1 : 0);
      }
      return communicator.native_calls() - before;
    };
    EXPECT_EQ(calls(1), 2u) << "the first of each kind";
    EXPECT_LE(calls(40), 8u);
  });
}

/// A communicator reads COHOM_DECISIONS when it is made.
class DecisionsFile {
 public:
  explicit DecisionsFile(const std::string& content, const std::string& name = "all")
      : path_(testing::TempDir() + "cohom_decisions_" + name + std::to_string(::getpid())) {
    std::ofstream(path_) << content;
    ::setenv("COHOM_DECISIONS", path_.c_str(), 1);
  }
  DecisionsFile(const DecisionsFile&) = delete;
  DecisionsFile& operator=(const DecisionsFile&) = delete;
  ~DecisionsFile() {
    ::unsetenv("COHOM_DECISIONS");
    std::remove(path_.c_str());
  }

 private:
  std::string path_;
};

/// From the first call on, whether they block or not; kinds that the file does not have go their
/// own way.
TEST(Native, CallsGoAsAFileSays) {
  const Watchdog watchdog("decisions of a file");
  const DecisionsFile file(
      "cohom-decisions 2\n2 thc f32 131072 native\n2 packed f32 131072 own\n"
      "2 raw f32 131072 native reduce\n2 signcount f32 131072 ring\n2 thc f32 8192 tree\n"
      "2 thc f32 65536 raw:recursive_doubling\n");
  LoopbackHub hub(2);
  on_hub(hub, 2, [&](int, Communicator& communicator) {
    for (int i = 0; i < 20; ++i) {
      std::vector<float> data(raced_elements, 1.0f);
      allreduce_start(data.data(), data.data(), data.size(), ElementType::f32, communicator,
                      raced())
          .wait();
      EXPECT_EQ(data, std::vector<float>(raced_elements, 2.0f));
      data.assign(data.size(), 1.0f);
      allreduce(std::span(data), communicator, {.codec = "packed", .native = "auto"});
      allreduce(std::span(data), communicator, {.codec = "raw", .native = "auto"});
      reduce(data.data(), data.data(), data.size(), ElementType::f32, 0, communicator,
             {.codec = "raw", .native = "auto"});
    }
    EXPECT_EQ(communicator.native_calls(), 40u);
    for (const auto& [codec, algorithm] :
         {std::pair("signcount", "ring"), std::pair("thc", "tree")}) {
      const std::size_t count = codec[0] == 's' ? raced_elements : 2048;
      AllreducePlan plan(communicator, count, ElementType::f32, {.codec = codec, .native = "auto"});
      EXPECT_EQ(plan.describe().codec.substr(0, 3), std::string(codec).substr(0, 3));
      EXPECT_EQ(plan.describe().algorithm, algorithm);
      EXPECT_FALSE(plan.describe().bypass);
    }
    std::vector<float> data(16384, 1.0f);
    const WireCounters before = communicator.wire_counters();
    allreduce(std::span(data), communicator, raced());
    EXPECT_EQ(data, std::vector<float>(data.size(), 2.0f));
    EXPECT_EQ(communicator.wire_counters().messages_sent - before.messages_sent, 2u)
        << "raw, with the words";
    EXPECT_EQ(communicator.bypassed_calls(), 1u);
  });
}

/// Of rank 0, call by call. Ranks come late at random, and MPI's sum may take a while.
std::vector<Bytes> outputs_of_a_run(const RankInputs& inputs, unsigned seed, bool native_is_slow) {
  constexpr int calls = 20;
  const auto before_native_sum = [=] {
    if (native_is_slow) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  };
  LoopbackHub hub(inputs.ranks(), {.before_native_sum = before_native_sum});
  std::vector<Bytes> outputs;
  on_hub(hub, inputs.ranks(), [&](int rank, Communicator& communicator) {
    std::mt19937 random(seed + static_cast<unsigned>(rank));
    for (int call = 0; call < calls; ++call)
      for (const char* const codec : {"thc", "packed", "signcount", "raw"}) {
        Bytes output(inputs.bytes(rank).size());
        if (random() % 20 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        allreduce(inputs.bytes(rank).data(), output.data(), inputs.count(), ElementType::f32,
                  communicator, {.codec = codec, .native = "auto"});
        if (rank == 0) outputs.push_back(std::move(output));
      }
    EXPECT_EQ(communicator.native_calls(), std::uint64_t(calls));
  });
  return outputs;
}

/// Without a file native would win the races of one run, and lose those of the other.
TEST(Native, TwoRunsByAFileHaveTheSameBits) {
  const Watchdog watchdog("two runs by a file");
  const DecisionsFile file(
      "cohom-decisions 2\n3 thc f32 131072 native\n3 packed f32 131072 own\n"
      "3 signcount f32 131072 ring\n3 raw f32 131072 recursive_doubling\n");
  const RankInputs inputs(3, ElementType::f32, raced_elements);
  EXPECT_EQ(outputs_of_a_run(inputs, 1, false), outputs_of_a_run(inputs, 100, true));
}

/// The plan of a short vector serves no other length then: for that the file may say otherwise, and
/// on one rank the plan may be busy.
TEST(Native, CallsGoAsAFileSaysForTheirOwnLength) {
  const Watchdog watchdog("decisions for short vectors");
  const DecisionsFile file("cohom-decisions 2\n2 thc f32 8192 native\n");
  LoopbackHub hub(2);
  on_hub(hub, 2, [&](int rank, Communicator& communicator) {
    std::vector<float> data(100, 1.0f), longer(2048, 1.0f);
    Request request = allreduce_start(data.data(), data.data(), data.size(), ElementType::f32,
                                      communicator, raced());
    if (rank == 0) request.wait();
    allreduce(std::span(longer), communicator, raced());
    request.wait();
    EXPECT_EQ(data, std::vector<float>(100, 2.0f));
    EXPECT_EQ(longer, std::vector<float>(2048, 2.0f));
    EXPECT_EQ(communicator.native_calls(), 1u);
  });
}

/// Ranks, each with a file of decisions of its own, or none where its content is empty; runs `body`
/// on each.
void with_files(const std::vector<std::string>& files,
                const std::function<void(Communicator&)>& body) {
  LoopbackHub hub(static_cast<int>(files.size()));
  std::vector<std::unique_ptr<DecisionsFile>> of_ranks;
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (const std::string& content : files) {
    const int rank = static_cast<int>(communicators.size());
    if (!content.empty())
      of_ranks.push_back(std::make_unique<DecisionsFile>(content, std::to_string(rank)));
    communicators.push_back(std::make_unique<Communicator>(
        hub.transport(rank), Aggregators{.native = hub.native_sums(rank)}));
  }
  std::vector<std::jthread> threads;
  for (auto& communicator : communicators) threads.emplace_back([&] { body(*communicator); });
}

TEST(Native, RanksHaveDifferentFiles) {
  const Watchdog watchdog("different decisions");
  with_files(
      {"cohom-decisions 2\n2 thc f32 131072 native\n", "cohom-decisions 2\n2 thc f32 131072 own\n"},
      [](Communicator& communicator) {
        const std::string error = error_of(communicator, raced_elements, raced());
        EXPECT_NE(error.find("native, as COHOM_DECISIONS says"), std::string::npos) << error;
      });
}

/// A launcher may give its environment to the ranks of its own host alone.
TEST(Native, OneRankHasAFile) {
  const Watchdog watchdog("a file on one rank");
  with_files({"", "cohom-decisions 2\n2 thc f32 131072 own\n"}, [](Communicator& communicator) {
    const std::string error = error_of(communicator, raced_elements, raced());
    EXPECT_NE(error.find("native"), std::string::npos) << error;
    EXPECT_NE(error.find("auto by COHOM_DECISIONS"), std::string::npos) << error;
    Options alike = raced();
    alike.native = "never";
    EXPECT_EQ(error_of(communicator, raced_elements, alike), "") << "it has no use for a file";
  });
}

/// What only some ranks allow none does: who may race is not the same on all of them.
TEST_P(NativeAt, SomeRanksMayNotRace) {
  const Watchdog watchdog("ranks that may not race");
  LoopbackHub hub(3, at(GetParam(), 3));
  on_hub(hub, 3, [&](int rank, Communicator& communicator) {
    Options options = raced();
    if (rank == 1) options.progress = "thread";
    for (int i = 0; i < 20; ++i) {
      std::vector<float> data(raced_elements, 1.0f);
      allreduce(std::span(data), communicator, options);
      EXPECT_NEAR(data.back(), 3, 1);
    }
    options = raced();
    if (rank == 1) options.native = "never";
    const std::string error = error_of(communicator, raced_elements, options);
    EXPECT_NE(error.find("rank 1"), std::string::npos) << error;
    EXPECT_NE(error.find("native"), std::string::npos) << error;
    EXPECT_EQ(communicator.native_calls(), 0u);
  });
}

/// Some ranks wait for a call and others only start it; some are late; some have timeouts. All
/// choose alike, or the call would be an error. Where there is no board, 10,000 and 12,000 bytes
/// may travel with the words or go natively, or neither where some do not wait; 400 bytes travel.
/// One plan serves all three, until it has an executor. On a board it is so with 80,000 and more.
TEST_P(NativeAt, RanksChooseAlike) {
  const Watchdog watchdog("races of ranks that differ");
  constexpr int ranks = 3, calls = 3000;
  const std::array counts = GetParam() == Place::apart ? std::array{100, 6000, 2500, 6000, 3000}
                                                       : std::array{100, 20000, 5000, 20000, 25000};
  LoopbackHub hub(ranks, at(GetParam(), ranks));
  on_hub(hub, ranks, [&](int rank, Communicator& communicator) {
    std::mt19937 random(static_cast<unsigned>(rank));
    std::vector<float> data;
    for (int i = 0; i < calls; ++i) {
      const bool all_wait = i % 50 < 40;
      if (random() % 100 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
      data.assign(std::size_t(counts[std::size_t(i % 5)]), 1.0f);
      Options options{.codec = i % 2 == 0 ? "thc" : "raw", .native = "auto"};
      if (all_wait || random() % 2 == 0) {
        allreduce(std::span(data), communicator, options);
      } else {
        if (random() % 2 == 0) options.timeout = 60;
        allreduce_start(data.data(), data.data(), data.size(), ElementType::f32, communicator,
                        options)
            .wait();
      }
      ASSERT_NEAR(data.back(), ranks, 1) << "call " << i;
    }
  });
  // Of each of four kinds at least two, if MPI's sum is much slower.
  EXPECT_GE(hub.native_sums_that_blocked(), std::size_t(ranks * 8));
}

/// Whether a rank has other things to do may change while it waits for others: here another thread
/// begins a call on a communicator that this one used. What it told them counts.
TEST_P(NativeAt, BesideAnotherThreadsCalls) {
  const Watchdog watchdog("native calls beside those of another thread");
  constexpr int ranks = 2, calls = 500;
  const std::size_t count = GetParam() == Place::apart ? 5000 : 20000;  // which race
  LoopbackHub hub(ranks, at(GetParam(), ranks)), other_hub(ranks, at(GetParam(), ranks));
  on_hub(hub, ranks, [&](int rank, Communicator& communicator) {
    Communicator other = other_hub.communicator(rank);
    const auto call_other = [&] {
      std::vector<float> data(count, 1.0f);
      allreduce(std::span(data), other, {.codec = "raw"});
    };
    std::vector<float> data;
    for (int i = 0; i < calls; ++i) {
      call_other();
      const std::jthread thread(call_other);
      if (rank == 1) std::this_thread::sleep_for(std::chrono::microseconds(200));
      data.assign(count, 1.0f);
      allreduce(std::span(data), communicator,
                i % 2 == 0 ? natively() : Options{.codec = "thc", .native = "auto"});
      ASSERT_NEAR(data.back(), ranks, 1) << "call " << i;
    }
  });
}

/// Rank 1 agrees to the call and comes back to it late: meanwhile the other one gave up.
TEST_P(NativeAt, TimesOutWhileMpiSums) {
  const Watchdog watchdog("a native call that times out");
  LoopbackHub hub(2, at(GetParam(), 2));
  std::atomic<bool> over = false;
  on_hub(hub, 2, [&](int rank, Communicator& communicator) {
    auto input = ones(1000);
    std::vector<float> output(1000);
    if (rank == 1) {
      Request call = allreduce_start(input.data(), output.data(), input.size(), ElementType::f32,
                                     communicator, natively());
      while (!over) std::this_thread::yield();
      call.wait();
      EXPECT_EQ(output, std::vector<float>(1000, 2.0f));
    } else {
      try {
        allreduce(std::span(std::as_const(input)), std::span(output), communicator,
                  natively(ReduceOp::sum, 0.1));
        ADD_FAILURE() << "no error";
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("waits for all ranks, in MPI's own reduction"),
                  std::string::npos)
            << error.what();
      }
      input.assign(input.size(), 7.0f);  // the caller's again
      output = input;
      over = true;
      EXPECT_NE(error_of(communicator, 1, natively()).find("make a new communicator"),
                std::string::npos);
      EXPECT_EQ(output, input);
    }
  });
}

}  // namespace
}  // namespace cohom::test
