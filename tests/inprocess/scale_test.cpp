// The library over a simulated network, at more ranks than threads could be; and the model of its
// schedules beside it.

#include "codecs/common/long_accumulator.hpp"
#include "scale/call_model.hpp"
#include "scale/executor_run.hpp"
#include "support/codec_specs.hpp"
#include "support/loopback_ranks.hpp"
#include "support/thoroughness.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/error.hpp>

#include <gtest/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace cohom::bench {
namespace {

const NetworkShape& network() { return *find_network("fat"); }
const NetworkShape& network_of_nodes() { return *find_network("fat8"); }

struct Case {
  std::string codec;
  std::string algorithm;
  int ranks = 64;
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.codec << " by " << c.algorithm << " on " << c.ranks << " ranks";
}

/// A spec a merge: addition in lanes, of packed words, of floats, by majority, bits, exactly.
const std::vector<std::string> codecs = {"thc",    "packed:bits=5", "raw",  "signcount",
                                         "marsit", "sparse",        "exact"};

/// Above, a case takes more than ten seconds.
constexpr int most_ranks_of_all = 255;

/// Every spec that tests know by every algorithm of ranks; on very many by mixed_radix, which they
/// go by then, and one spec a merge by every other.
std::vector<Case> whole_product(int ranks) {
  std::vector<Case> all;
  const auto is_asked_for = [&](std::string_view spec, const AlgorithmRow& algorithm) {
    return ranks <= most_ranks_of_all || algorithm.goes_by_nodes ||
           std::ranges::find(codecs, spec) != codecs.end();
  };
  // Those of 16 ranks are tested on no more, but can be used.
  for (const test::CodecSpec& spec : test::specs_for(std::min(ranks, 16)))
    for (const AlgorithmRow& algorithm : test::algorithms_for(spec.spec))
      if (!algorithm.needs_aggregator && is_asked_for(spec.spec, algorithm))
        all.push_back({std::string(spec.spec), std::string(algorithm.name), ranks});
  return all;
}

/// COHOM_TEST_SCALE_RANKS: the whole product for so many ranks (scripts/long-check).
std::optional<int> product_ranks() {
  const char* const text = std::getenv("COHOM_TEST_SCALE_RANKS");
  return text == nullptr ? std::nullopt : std::optional(std::stoi(text));
}

std::vector<Case> cases() {
  if (const auto ranks = product_ranks()) return whole_product(*ranks);
  std::vector<Case> all;
  for (const int ranks : {64, 255})
    for (const std::string& codec : codecs)
      for (const char* const algorithm : {"recursive_halving", "grid", "mixed_radix", "direct"})
        if (ranks == 64 || (!test::sanitized && (codec == "thc" || codec == "raw")))
          all.push_back({codec, algorithm, ranks});
  return all;
}

class Scale : public testing::TestWithParam<Case> {};

/// Some chunks of several blocks, and one that is ragged.
constexpr std::size_t short_vector = 70'001;

TEST_P(Scale, AllRanksHaveTheSameBits) {
  try {
    const ExecutedCall executed =
        run_executors(network_of_nodes(), {.codec = GetParam().codec,
                                           .algorithm = GetParam().algorithm,
                                           .elements = short_vector,
                                           .ranks = GetParam().ranks});
    EXPECT_TRUE(executed.identical());
  } catch (const Error& error) {
    if (!product_ranks() || error.kind() != ErrorKind::invalid_argument) throw;
    GTEST_SKIP() << error.what();  // a lane of fixed width has room for few ranks
  }
}

INSTANTIATE_TEST_SUITE_P(Merges, Scale, testing::ValuesIn(cases()));

std::uint64_t loopback_hash(const CallShape& shape) {
  std::vector<std::uint64_t> hashes(static_cast<std::size_t>(shape.ranks));
  test::on_ranks(shape.ranks, [&](int rank, Communicator& communicator) {
    std::vector<float> vector(shape.elements);
    fill_simulated_input(rank, vector);
    allreduce(vector, communicator, {.codec = shape.codec, .algorithm = shape.algorithm});
    hashes[static_cast<std::size_t>(rank)] =
        XXH3_64bits(vector.data(), vector.size() * sizeof(float));
  });
  return hashes.front();
}

TEST(ScaleHash, IsThatOfTheLoopback) {
  for (const std::string& codec : codecs) {
    const CallShape shape{.codec = codec, .algorithm = "direct", .elements = 20'000, .ranks = 16};
    const ExecutedCall executed = run_executors(network(), shape);
    EXPECT_TRUE(executed.identical()) << codec;
    EXPECT_EQ(executed.hashes.front(), loopback_hash(shape)) << codec;
  }
}

TEST(ScaleHash, DoesNotDependOnTheAlgorithmOfIntegerPayloads) {
  const auto hash = [](const char* algorithm) {
    return run_executors(
               network(),
               {.codec = "thc", .algorithm = algorithm, .elements = short_vector, .ranks = 64})
        .hashes.front();
  };
  for (const char* const algorithm : {"recursive_halving", "grid"})
    EXPECT_EQ(hash(algorithm), hash("direct")) << algorithm;
}

// With digits for the ranks of a node, of which the last ones have fewer.
TEST(ScaleHash, IsTheSameByTheDigitsOfNodes) {
  for (const int ranks : {64, 71}) {
    CallShape shape{
        .codec = "thc", .algorithm = "mixed_radix", .elements = short_vector, .ranks = ranks};
    const std::uint64_t by_digits = run_executors(network_of_nodes(), shape).hashes.front();
    shape.algorithm = "direct";
    EXPECT_EQ(by_digits, run_executors(network_of_nodes(), shape).hashes.front()) << ranks;
  }
}

/// Sums of all elements, rounded once. Rank 0 has infinite ones as run_executors() places them.
std::uint64_t hash_of_exact_sums(const CallShape& shape) {
  std::vector<LongAccumulator> sums(shape.elements);
  std::vector<float> vector(shape.elements);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    fill_simulated_input(rank, vector);
    for (std::size_t i = 0; rank == 0 && i < shape.outliers; ++i)
      vector[shape.elements * i / shape.outliers] = std::numeric_limits<float>::infinity();
    for (std::size_t i = 0; i < shape.elements; ++i) sums[i].add(vector[i]);
  }
  for (std::size_t i = 0; i < shape.elements; ++i)
    vector[i] = static_cast<float>(sums[i].rounded(ElementType::f32, 1));
  return XXH3_64bits(vector.data(), vector.size() * sizeof(float));
}

TEST(ScaleHash, IsThatOfExactSumsOf255Ranks) {
  const CallShape shape{
      .codec = "exact", .algorithm = "mixed_radix", .elements = 20'000, .ranks = 255};
  EXPECT_EQ(run_executors(network_of_nodes(), shape).hashes.front(), hash_of_exact_sums(shape));
}

/// Every block has an outlier, so the fallback round has all elements. On 72 ranks owners get sums
/// of some ranks' elements where these are few, and all ranks' elements where they are many.
TEST(ScaleFallback, OutliersAreSummedExactlyByWhateverIsFastest) {
  for (const NetworkShape* const shape : {&network(), &network_of_nodes()})
    for (const std::string codec : {"thc", "packed:bits=5", "signcount", "sparse+thc"})
      for (const std::size_t elements : {5'003, 20'000}) {
        const CallShape call{.codec = codec,
                             .algorithm = "mixed_radix",
                             .elements = elements,
                             .ranks = 72,
                             .outliers = elements / 8};
        const ExecutedCall executed = run_executors(*shape, call);
        EXPECT_TRUE(executed.identical()) << codec;
        EXPECT_EQ(executed.hashes.front(), hash_of_exact_sums(call))
            << codec << ", " << elements << " elements";
      }
}

/// An owner would get a message from every other rank.
TEST(ScaleFallback, FewOutliersOnManyRanksTakeFewMessages) {
  for (const std::string codec : {"thc", "exact"}) {
    CallShape call{.codec = codec, .algorithm = "mixed_radix", .elements = 20'000, .ranks = 128};
    const std::uint64_t without = run_executors(network(), call).call.messages;
    call.outliers = 1;
    const ExecutedCall executed = run_executors(network(), call);
    EXPECT_LT(executed.call.messages, without + 64) << codec;
    EXPECT_TRUE(executed.identical()) << codec;
    if (codec == "exact") EXPECT_EQ(executed.hashes.front(), hash_of_exact_sums(call));
  }
}

/// So many cells are too few for most elements to peel.
TEST(ScaleFallback, UnpeeledElementsOnManyRanksTakeFewMessages) {
  CallShape call{.codec = "sketch", .algorithm = "mixed_radix", .elements = 10'000, .ranks = 72};
  const std::uint64_t without = run_executors(network(), call).call.messages;
  call.codec = "sketch:gamma=0.5";
  const ExecutedCall executed = run_executors(network(), call);
  EXPECT_LT(executed.call.messages, without + 64);
  EXPECT_TRUE(executed.identical());
  EXPECT_EQ(executed.hashes.front(), hash_of_exact_sums(call));
}

/// A chunk is one segment here, so that both have the same messages.
TEST(ScaleModel, AgreesWithTheExecutor) {
  for (const NetworkShape* const shape : {&network(), &network_of_nodes()})
    for (const std::string codec : {"thc", "raw"})
      for (const char* const algorithm : {"direct", "recursive_halving", "grid"}) {
        const CallShape call{.codec = codec,
                             .algorithm = algorithm,
                             .elements = std::size_t{1} << 18,
                             .ranks = 64,
                             .segment = std::size_t{1} << 18};
        const SimulatedCall executed = run_executors(*shape, call).call;
        const SimulatedCall modelled =
            run_schedules(*shape, call.ranks, model_call(*shape, call).parts);
        const std::string what = codec + " by " + algorithm + " on " + std::string(shape->name);
        EXPECT_NEAR(modelled.time, executed.time, 0.05 * executed.time) << what;
        EXPECT_EQ(modelled.messages, executed.messages) << what;
        EXPECT_NEAR(double(modelled.busiest_node_bytes), double(executed.busiest_node_bytes),
                    0.02 * double(executed.busiest_node_bytes))
            << what;
      }
}

/// The vector travels with the words by which ranks agree.
TEST(ScaleModel, AgreesWithTheExecutorOnShortCalls) {
  for (const int ranks : {2, 3, 12, 64})
    for (const std::size_t elements : {1, 1000, 2048}) {
      const CallShape call{.algorithm = "recursive_doubling", .elements = elements, .ranks = ranks};
      const SimulatedCall executed = run_executors(network(), call).call;
      const SimulatedCall modelled =
          run_schedules(network(), ranks, model_call(network(), call).parts);
      const std::string what = std::to_string(elements) + " elements, " + std::to_string(ranks);
      EXPECT_NEAR(modelled.time, executed.time, 0.05 * executed.time) << what;
      EXPECT_EQ(modelled.messages, executed.messages) << what;
    }
}

/// Where plans cut chunks into segments, the model cuts them alike.
TEST(ScaleModel, SendsAsManyMessagesAsTheExecutor) {
  for (const char* const algorithm : {"direct", "recursive_halving", "mixed_radix"}) {
    const CallShape call{
        .codec = "thc", .algorithm = algorithm, .elements = std::size_t{1} << 20, .ranks = 32};
    EXPECT_EQ(run_schedules(network(), call.ranks, model_call(network(), call).parts).messages,
              run_executors(network(), call).call.messages)
        << algorithm;
  }
}

struct TracedMessage {
  int sends = 0, receives = 0, waits = 0;
  std::string sender, receiver;
  std::size_t bytes = 0, room = 0;
};

/// Takes in the lines of one rank, in order.
void read_trace(const std::string& text, std::map<std::string, TracedMessage>& messages) {
  std::istringstream lines(text);
  std::string rank, action, peer, number;
  std::size_t bytes = 0, type = 0;
  while (lines >> rank >> action && action != "finalize") {
    if (action == "init") continue;
    lines >> peer;
    if (action == "wait") {
      lines >> rank >> number;
      EXPECT_EQ(messages[number].receives, 1) << "a wait before its receive";
      ++messages[number].waits;
      continue;
    }
    lines >> number >> bytes >> type;
    TracedMessage& message = messages[number];
    const bool sends = action == "isend";
    EXPECT_TRUE(sends || action == "irecv") << action;
    const std::string& sender = sends ? rank : peer;
    if (message.sender.empty()) message.sender = sender;
    EXPECT_EQ(message.sender, sender);
    if (message.receiver.empty()) message.receiver = sends ? peer : rank;
    EXPECT_EQ(message.receiver, sends ? peer : rank);
    ++(sends ? message.sends : message.receives);
    (sends ? message.bytes : message.room) = bytes;
  }
}

TEST(ScaleTrace, HasEachMessageOnceOnEitherSide) {
  constexpr int ranks = 7;
  MessageTrace trace(ranks);
  const CallShape shape{
      .codec = "thc", .algorithm = "mixed_radix", .elements = short_vector, .ranks = ranks};
  const ExecutedCall executed = run_executors(network(), shape, &trace);
  EXPECT_EQ(executed.call.time, run_executors(network(), shape).call.time);

  std::map<std::string, TracedMessage> messages;
  std::map<std::string, std::uint64_t> sent;
  for (int rank = 0; rank < ranks; ++rank) read_trace(trace.text(rank), messages);
  for (const auto& [number, message] : messages) {
    EXPECT_EQ(message.sends, 1) << number;
    EXPECT_EQ(message.receives, 1) << number;
    EXPECT_EQ(message.waits, 1) << number;
    EXPECT_GE(message.room, message.bytes) << number;
    ++sent[message.sender];
  }
  std::uint64_t most = 0;
  for (const auto& [sender, count] : sent) most = std::max(most, count);
  EXPECT_EQ(most, executed.call.messages);
}

/// Without latency, overhead and other ranks' messages on the links, bytes alone take time.
TEST(ScaleModel, IsBoundByBytesOnAFastNetwork) {
  NetworkShape ideal = network();
  ideal.latency = ideal.hop = ideal.overhead = ideal.adapter_gap = 0;
  constexpr int ranks = 16;
  constexpr std::size_t elements = std::size_t{1} << 22;
  const CallShape call{.elements = elements, .ranks = ranks};
  const SimulatedCall native =
      run_schedules(ideal, ranks, model_native(call, "recursive_halving").parts);
  const double bytes = 2.0 * (ranks - 1) / ranks * elements * sizeof(float);
  EXPECT_NEAR(native.time, bytes / ideal.link, 0.001 * native.time);
}

TEST(ScaleModel, CountsMoreBytesThan32BitsHold) {
  constexpr int ranks = 4;
  const auto time = [](std::size_t elements) {
    const CallShape call{.elements = elements, .ranks = ranks};
    return run_schedules(network(), ranks, model_native(call, "recursive_halving").parts).time;
  };
  constexpr std::size_t elements = std::size_t{1} << 31;  // a message has 4 GiB
  EXPECT_NEAR(time(elements), 2 * time(elements / 2), 0.01 * time(elements));
}

/// Half of the nodes are at another switch, so what crosses over is less where ranks know that.
TEST(ScaleModel, RanksKeepToTheirSwitchesWhereTheyKnowThem) {
  NetworkShape narrow = *find_network("fato4");
  narrow.nodes_a_leaf = 4;
  narrow.uplinks = 1;
  const CallShape call{
      .codec = "raw", .algorithm = "mixed_radix", .elements = std::size_t{1} << 18, .ranks = 8};
  const SimulatedCall hidden = run_executors(narrow, call).call;
  narrow.switches_known = true;
  const ExecutedCall known = run_executors(narrow, call);
  EXPECT_TRUE(known.identical());
  EXPECT_LT(known.call.time, 0.7 * hidden.time);
  EXPECT_EQ(run_schedules(narrow, call.ranks, model_call(narrow, call).parts).messages,
            known.call.messages);
}

TEST(ScaleModel, RanksOfANodeShareItsAdapter) {
  const CallShape call{.elements = std::size_t{1} << 22, .ranks = 16};
  NetworkShape shared = network();
  shared.ranks_a_node = 2;
  const auto direct = [&](const NetworkShape& shape) {
    return run_schedules(shape, call.ranks, model_native(call, "direct").parts).time;
  };
  EXPECT_GT(direct(shared), 1.7 * direct(network()));
}

TEST(ScaleNetworks, HaveNamesOfTheirOwn) {
  for (const NetworkShape& shape : network_table()) EXPECT_EQ(find_network(shape.name), &shape);
  EXPECT_EQ(find_network("fat9"), nullptr);
}

}  // namespace
}  // namespace cohom::bench
