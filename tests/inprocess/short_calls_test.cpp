// Calls whose vectors travel with the words by which ranks agree: what they add up to, how few
// messages they take, and that a rank that makes another call, or fails, is an error on all ranks
// and no rank waits.

#include "agreement/agreement_words.hpp"
#include "agreement/call_board.hpp"
#include "agreement/doubling_hops.hpp"
#include "altering_transport.hpp"
#include "base/tags.hpp"
#include "device_vector.hpp"
#include "elements.hpp"
#include "kernels/table/kernel_table.hpp"
#include "loopback_ranks.hpp"
#include "rank_inputs.hpp"
#include "same_bytes.hpp"
#include "testing/loopback_transport.hpp"
#include "watchdog.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/plan.hpp>
#include <cohom/reductions.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace cohom::test {
namespace {

constexpr std::size_t head_bytes = sizeof(AgreementWords::Table);

Bytes added(ElementType type, const Bytes& lower, const Bytes& upper) {
  Bytes sum(lower.size());
  const void* const operands[] = {lower.data(), upper.data()};
  kernels::kernel_table(kernels::Isa::scalar)
      .merge({MergeKind::add_float, type}, operands, 2, sum.size(), sum.data());
  return sum;
}

/// As recursive doubling adds: pairs where n is no power of two, then groups of neighbours.
Bytes result_of(const RankInputs& inputs, ReduceOp op) {
  const int ranks = inputs.ranks();
  const int members = static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
  std::vector<Bytes> groups;
  for (int rank = 0; rank < ranks; ++rank) {
    groups.push_back(inputs.bytes(rank));
    if (rank >= 2 * (ranks - members)) continue;
    groups.back() = added(inputs.type(), groups.back(), inputs.bytes(rank + 1));
    ++rank;
  }
  for (; groups.size() > 1; groups.resize(groups.size() / 2))
    for (std::size_t g = 0; g < groups.size() / 2; ++g)
      groups[g] = added(inputs.type(), groups[2 * g], groups[2 * g + 1]);
  Bytes result(groups[0].size());
  kernels::kernel_table(kernels::Isa::scalar)
      .finish_elements(inputs.type(), groups[0].data(), inputs.count(),
                       op == ReduceOp::mean ? std::uint64_t(ranks) : 1, result.data());
  return result;
}

/// Values that are no numbers, and whose sums are none, among others.
RankInputs nasty_inputs(int ranks, ElementType type, std::size_t count) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  RankInputs inputs(ranks, type, count);
  for (int rank = 0; rank < ranks && count > 4; ++rank) {
    auto values = to_values(type, inputs.bytes(rank));
    if (rank == ranks - 1) values[1] = std::numeric_limits<double>::quiet_NaN();
    values[2] = rank % 2 == 0 ? infinity : -infinity;
    values[3] = -0.0;
    inputs.mutable_bytes(rank) = to_bytes(type, values);
  }
  return inputs;
}

void expect_sums(const RankInputs& inputs, ReduceOp op, Communicator& communicator) {
  const Bytes expected = result_of(inputs, op);
  const Bytes& input = inputs.bytes(communicator.rank());
  const Options options{
      .codec = "raw", .algorithm = "recursive_doubling", .op = op, .native = "never"};
  const auto call = [&](const void* from, Bytes& output) {
    allreduce(from, output.data(), inputs.count(), inputs.type(), communicator, options);
    EXPECT_TRUE(same_bytes(output, expected)) << inputs.name();
  };
  Bytes output(input.size()), in_place = input;
  call(input.data(), output);
  call(in_place.data(), in_place);
  AllreducePlan plan(communicator, inputs.count(), inputs.type(), options);
  for (int start = 0; start < 2; ++start) {
    output.assign(input.size(), std::byte{1});
    plan.execute(input.data(), output.data());
    EXPECT_TRUE(same_bytes(output, expected)) << inputs.name() << " by a plan";
  }
}

/// How ranks tell each other their words: by messages, by messages of ranks on
/// two nodes, which lie in windows inside a node, or by the board of ranks that are one node.
enum class Way { messages, nodes, board };

LoopbackOptions options_for(Way way, int ranks) {
  if (way == Way::board)
    return {.nodes = std::vector<std::uint64_t>(std::size_t(ranks), 7), .node_windows = true};
  if (way == Way::nodes) {
    std::vector<std::uint64_t> nodes;
    for (int rank = 0; rank < ranks; ++rank) nodes.push_back(std::uint64_t(2 * rank / ranks));
    return {.nodes = nodes, .node_windows = true};
  }
  return {.eager_limit = ranks % 2 == 0 ? std::size_t{0} : std::size_t{65536}};
}

std::size_t longest_of(Way way, int ranks) {
  return ShortSum::longest(ranks, way == Way::board && ranks <= CallBoard::max_ranks, false);
}

class ShortCallsBy : public ::testing::TestWithParam<Way> {};

INSTANTIATE_TEST_SUITE_P(Ways, ShortCallsBy,
                         ::testing::Values(Way::messages, Way::nodes, Way::board),
                         [](const auto& tested) {
                           return tested.param == Way::board   ? "Board"
                                  : tested.param == Way::nodes ? "Nodes"
                                                               : "Messages";
                         });

TEST_P(ShortCallsBy, AddAsRecursiveDoublingDoes) {
  for (int ranks = 2; ranks <= 9; ++ranks) {
    const Watchdog watchdog("sums of " + std::to_string(ranks) + " ranks");
    std::vector<RankInputs> all;
    for (const ElementType type : all_element_types)
      for (const std::size_t bytes :
           {std::size_t{0}, size_of(type), 7 * size_of(type), 301 * size_of(type),
            ShortSum::short_bytes, ShortSum::section_bytes + size_of(type),
            longest_of(GetParam(), ranks)})
        all.push_back(nasty_inputs(ranks, type, bytes / size_of(type)));
    on_ranks(ranks, options_for(GetParam(), ranks), [&](int, Communicator& communicator) {
      for (const RankInputs& inputs : all)
        for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean})
          expect_sums(inputs, op, communicator);
    });
  }
}

WireCounters sent_with(std::size_t count, const Options& options, Communicator& communicator) {
  std::vector<float> data(count, 1.0f);
  const WireCounters before = communicator.wire_counters();
  allreduce(std::span(data), communicator, options);
  const WireCounters after = communicator.wire_counters();
  return {after.bytes_sent - before.bytes_sent, after.messages_sent - before.messages_sent};
}

/// One message a hop, which holds the vector, or one post, and of few ranks without a board as many
/// messages as the vector has sections; longer vectors travel apart.
TEST_P(ShortCallsBy, TakeOneExchange) {
  for (const int ranks : {2, 3, 4, 7, 9}) {
    on_ranks(ranks, options_for(GetParam(), ranks), [&](int rank, Communicator& communicator) {
      const DoublingHops hops(rank, ranks);
      std::uint64_t sends = 0;
      for (int hop = 0; hop < hops.count(); ++hop) sends += hops[hop].sends ? 1 : 0;
      const bool on_board = GetParam() == Way::board && ranks <= CallBoard::max_ranks;
      if (on_board) sends = 1;
      constexpr std::size_t longest = ShortSum::short_bytes / sizeof(float);
      for (const std::size_t count : {std::size_t{0}, std::size_t{5}, longest})
        for (const char* const codec : {"raw", "thc"}) {
          const WireCounters sent =
              sent_with(count, {.codec = codec, .native = "never"}, communicator);
          EXPECT_EQ(sent.messages_sent, sends) << count;
          EXPECT_EQ(sent.bytes_sent, sends * (head_bytes + 4 * count)) << count;
        }
      const auto messages = [&](std::size_t count, const Options& options) {
        return sent_with(count, options, communicator).messages_sent;
      };
      // In a race with MPI's sum, but a rank that may give up has no turn for that.
      EXPECT_EQ(messages(longest / 2, {.codec = "raw", .timeout = 60}), sends);
      const Options doubling{.codec = "raw", .algorithm = "recursive_doubling", .native = "never"};
      const std::size_t most = longest_of(GetParam(), ranks) / sizeof(float);
      for (const std::size_t count : {longest + 1, most})
        if (longest < count && count <= most) {
          const WireCounters sent = sent_with(count, doubling, communicator);
          EXPECT_EQ(sent.messages_sent, on_board ? 1 : sends * ShortSum::sections_of(4 * count));
          EXPECT_EQ(sent.bytes_sent, sends * (head_bytes + 4 * count));
        }
      EXPECT_GT(messages(most + 1, doubling), sends);
      Options checked = doubling;
      checked.checksum = "on";
      const bool whole = on_board && ranks <= ShortSum::max_ranks;
      EXPECT_EQ(messages(longest + 1, checked) > 2 * sends, !whole);
      if (whole)
        for (const std::size_t count : {longest + 1, most})
          // Which no aggregator would take.
          EXPECT_EQ(
              sent_with(count, {.codec = "packed", .native = "never"}, communicator).bytes_sent,
              head_bytes + 4 * count)
              << "the codec is bypassed";
      const Options bounded{.codec = "packed:abs_error=0.1", .native = "never"};
      if (whole) {
        EXPECT_LT(sent_with(most, bounded, communicator).bytes_sent, 4 * most)
            << "errors are bounded";
        EXPECT_EQ(AllreducePlan(communicator, most, ElementType::f32, bounded).describe().algorithm,
                  "direct");
      }
      EXPECT_GT(messages(5, {.codec = "raw", .algorithm = "tree"}), sends);
      EXPECT_EQ(messages(5, {.codec = "raw", .checksum = "on"}), sends);
    });
  }
}

/// Its root has the sum when all ranks agree, and no time to compare.
TEST(ShortReduces, AreInNoRace) {
  on_ranks(3, {}, [](int rank, Communicator& communicator) {
    const std::vector<float> input(2000, 1.0f);
    std::vector<float> output(input.size());
    for (int call = 0; call < 20; ++call)
      reduce(input.data(), rank == 1 ? output.data() : nullptr, input.size(), ElementType::f32, 1,
             communicator, {.codec = "raw"});
    EXPECT_EQ(communicator.native_calls(), 0u);
    if (rank == 1) EXPECT_EQ(output, std::vector<float>(input.size(), 3.0f));
  });
}

/// More than stand on a board at once; and one rank begins when the others have begun all.
TEST_P(ShortCallsBy, AddManyAtOnce) {
  constexpr int ranks = 3;
  constexpr std::size_t calls = 3 * CallBoard::calls;
  std::atomic<int> started = 0;
  const Watchdog watchdog("many short calls at once");
  on_ranks(ranks, options_for(GetParam(), ranks), [&](int rank, Communicator& communicator) {
    while (rank == 1 && started < ranks - 1) std::this_thread::yield();
    std::vector<std::vector<float>> data;
    for (std::size_t call = 0; call < calls; ++call)
      data.emplace_back(call % 2 == 0 ? 3 : 700, float(call) + float(rank));
    std::vector<Request> requests;
    for (auto& vector : data)
      requests.push_back(allreduce_start(vector.data(), vector.data(), vector.size(),
                                         ElementType::f32, communicator, {.codec = "raw"}));
    ++started;
    for (std::size_t call = calls; call-- > 0;) requests[call].wait();
    for (std::size_t call = 0; call < calls; ++call)
      ASSERT_EQ(data[call], std::vector<float>(data[call].size(), 3 * float(call) + 3));
    expect_sums(nasty_inputs(ranks, ElementType::f32, 9), ReduceOp::sum, communicator);
  });
}

/// Long ones have room for two, among others that have room for more; and one rank begins when the
/// others have begun all.
TEST_P(ShortCallsBy, AddLongOnesAmongOthersAtOnce) {
  constexpr int ranks = 3;
  constexpr std::size_t calls = 40;
  std::atomic<int> started = 0;
  const Watchdog watchdog("many long calls at once");
  for (const char* const checksum : {"off", "on"}) {
    started = 0;
    on_ranks(ranks, options_for(GetParam(), ranks), [&](int rank, Communicator& communicator) {
      while (rank == 1 && started < ranks - 1) std::this_thread::yield();
      std::vector<std::vector<float>> data;
      for (std::size_t call = 0; call < calls; ++call)
        data.emplace_back(call % 4 == 3   ? 9
                          : call % 4 == 2 ? 700
                                          : 30000 + call,
                          float(call) + float(rank));
      std::vector<Request> requests;
      for (auto& vector : data)
        requests.push_back(allreduce_start(
            vector.data(), vector.data(), vector.size(), ElementType::f32, communicator,
            {.codec = "raw", .algorithm = "recursive_doubling", .checksum = checksum}));
      ++started;
      for (std::size_t call = calls; call-- > 0;) requests[call].wait();
      for (std::size_t call = 0; call < calls; ++call)
        ASSERT_EQ(data[call], std::vector<float>(data[call].size(), 3 * float(call) + 3));
    });
  }
}

/// What a rank may do when others make another call.
struct Kind {
  const char* name;
  std::function<void(Communicator&, AllreducePlan&, AllreducePlan&)> call;
  bool fails = false;  ///< even when all ranks do it
};

void reduce(Communicator& communicator, std::size_t count, const Options& options) {
  std::vector<float> data(count, 1.0f);
  allreduce(std::span(data), communicator, options);
}

std::vector<Kind> kinds() {
  return {
      {"short", [](auto& own, auto&, auto&) { reduce(own, 100, {.codec = "raw"}); }},
      {"longer", [](auto& own, auto&, auto&) { reduce(own, 101, {.codec = "raw"}); }},
      {"mean", [](auto& own, auto&, auto&) { reduce(own, 100, {.op = ReduceOp::mean}); }},
      {"ring",
       [](auto& own, auto&, auto&) { reduce(own, 100, {.codec = "raw", .algorithm = "ring"}); }},
      {"long", [](auto& own, auto&, auto&) { reduce(own, 5000, {.codec = "thc"}); }},
      // Of few ranks they travel with the words, and behind them.
      {"sections",
       [](auto& own, auto&, auto&) {
         reduce(own, 15000, {.codec = "raw", .algorithm = "recursive_doubling"});
       }},
      {"more_sections",
       [](auto& own, auto&, auto&) {
         reduce(own, 60000, {.codec = "raw", .algorithm = "recursive_doubling"});
       }},
      {"native",
       [](auto& own, auto&, auto&) { reduce(own, 100, {.codec = "raw", .algorithm = "native"}); }},
      {"raced",
       [](auto& own, auto&, auto&) { reduce(own, 20000, {.codec = "thc", .native = "auto"}); }},
      {"bad",
       [](auto& own, auto&, auto&) {
         std::vector<float> data(100);
         allreduce(data.data(), nullptr, 100, ElementType::f32, own, {.codec = "raw"});
       },
       true},
      {"plan",
       [](auto&, AllreducePlan& plan, auto&) {
         std::vector<float> data(100, 1.0f);
         plan.execute(data.data(), data.data());
       }},
      {"long_plan",
       [](auto&, auto&, AllreducePlan& plan) {
         std::vector<float> data(5000, 1.0f);
         plan.execute(data.data(), data.data());
       }},
  };
}

/// The odd rank does one thing, the others another, and then all make a right call.
void expect_one_error(const Kind& usual, const Kind& odd, int odd_rank, Communicator& communicator,
                      AllreducePlan& short_plan, AllreducePlan& long_plan) {
  const bool same = &usual == &odd;
  const std::string what = std::string(odd.name) + " on rank " + std::to_string(odd_rank) + " of " +
                           std::to_string(communicator.ranks()) + ", else " + usual.name;
  bool failed = false;
  try {
    (communicator.rank() == odd_rank ? odd : usual).call(communicator, short_plan, long_plan);
  } catch (const Error& error) {
    failed = true;
    const bool heard = std::string(error.what()).find("ranks disagree on ") != std::string::npos ||
                       std::string(error.what()).find("output is null") != std::string::npos;
    EXPECT_TRUE(heard) << what << ": " << error.what();
  }
  EXPECT_EQ(failed, !same || usual.fails) << what;
  std::vector<float> data(17, 1.0f);
  allreduce(std::span(data), communicator, {.codec = "raw"});
  EXPECT_EQ(data, std::vector<float>(17, float(communicator.ranks()))) << "behind " << what;
}

/// With an aggregator nothing races, and long vectors go there.
TEST_P(ShortCallsBy, AmongOtherCallsAreAnErrorOnAllRanks) {
  const std::vector<Kind> all = kinds();
  for (int ranks = 2; ranks <= 9; ++ranks) {
    const Watchdog watchdog("calls that differ, " + std::to_string(ranks) + " ranks");
    const bool has_aggregator = ranks % 2 == 0;
    LoopbackHub hub(ranks, options_for(GetParam(), ranks));
    on_ranks(ranks, [&](int rank, Communicator&) {
      Communicator communicator(hub.transport(rank),
                                {.attached = has_aggregator ? hub.network(rank) : nullptr,
                                 .native = hub.native_sums(rank)});
      AllreducePlan short_plan(communicator, 100, ElementType::f32, {.codec = "raw"});
      AllreducePlan long_plan(communicator, 5000, ElementType::f32, {.codec = "thc"});
      for (const Kind& usual : all)
        for (const Kind& odd : all)
          for (const int odd_rank : {0, ranks / 2, ranks - 1})
            expect_one_error(usual, odd, odd_rank, communicator, short_plan, long_plan);
      // Three are by native, and the first that raced.
      const std::uint64_t native_calls = communicator.native_calls();
      EXPECT_TRUE(has_aggregator ? native_calls == 3 : native_calls > 3) << native_calls;
    });
  }
}

/// A rank whose buffers lie on a device adds no short vectors, and may yet make the same call.
TEST_P(ShortCallsBy, ARankThatAddsNoneMakesTheCallLonger) {
  if (tested_runtime().name() != "emulated") GTEST_SKIP() << "for the emulated device";
  const WithDevice device;
  for (const int ranks : {2, 3, 4, 5})
    for (int odd = 0; odd < ranks; ++odd) {
      const Watchdog watchdog("a rank without short sums");
      for (const std::size_t count : {std::size_t{200}, std::size_t{15000}}) {
        const RankInputs inputs = nasty_inputs(ranks, ElementType::f32, count);
        const Bytes expected = result_of(inputs, ReduceOp::sum);
        on_ranks(ranks, options_for(GetParam(), ranks), [&](int rank, Communicator& communicator) {
          // With a segment ranks need not agree on where their buffers lie.
          const Options options{.codec = "raw", .algorithm = "recursive_doubling", .segment = 512};
          Bytes data = inputs.bytes(rank);
          const DeviceVector there(data);
          void* const buffer = rank == odd ? there.data() : data.data();
          allreduce(buffer, buffer, count, ElementType::f32, communicator, options);
          EXPECT_TRUE(same_bytes(rank == odd ? there.fetch() : data, expected)) << "rank " << rank;
        });
      }
    }
}

/// One rank comes when the others no longer wait at the board alone, and makes this call or
/// another.
TEST_P(ShortCallsBy, WaitForARankThatComesLate) {
  using namespace std::chrono_literals;
  const std::vector<Kind> all = kinds();
  const Kind& usual = all.front();
  for (const int ranks : {2, 5}) {
    const Watchdog watchdog("a rank that comes late, " + std::to_string(ranks) + " ranks");
    on_ranks(ranks, options_for(GetParam(), ranks), [&](int rank, Communicator& communicator) {
      AllreducePlan short_plan(communicator, 100, ElementType::f32, {.codec = "raw"});
      AllreducePlan long_plan(communicator, 5000, ElementType::f32, {.codec = "thc"});
      for (const Kind& odd : all) {
        if (rank == 1) std::this_thread::sleep_for(20ms);
        expect_one_error(usual, odd, 1, communicator, short_plan, long_plan);
      }
    });
  }
}

/// What a rank says in a call to which another one does not come in time, and in the next one.
TEST(ShortCalls, EndWhereARankDoesNotComeToTheBoard) {
  const Watchdog watchdog("a rank that does not come");
  std::atomic<bool> over = false;
  on_ranks(2, options_for(Way::board, 2), [&](int rank, Communicator& communicator) {
    while (rank == 1 && !over) std::this_thread::yield();
    std::vector<std::string> errors;
    for (int call = 0; call < 2; ++call) {
      try {
        std::vector<float> data(100, 1.0f);
        allreduce(std::span(data), communicator, {.codec = "raw", .timeout = 0.2});
        errors.emplace_back();
      } catch (const Error& error) {
        errors.emplace_back(error.what());
      }
    }
    over = true;
    const auto has = [](const std::string& text, const char* part) {
      return text.find(part) != std::string::npos;
    };
    if (rank == 0)
      EXPECT_TRUE(has(errors[0], "waits for rank 1 to agree on the call")) << errors[0];
    EXPECT_TRUE(has(errors[1], "make a new communicator")) << "rank " << rank << ": " << errors[1];
    if (rank == 1) EXPECT_TRUE(has(errors[1], "rank 0: ")) << errors[1];
  });
}

/// What ranks 0 and 1 say when rank 1 alters its messages.
std::vector<std::string> errors_with(const Alter& alter, const Options& options,
                                     std::size_t count = 100) {
  const Watchdog watchdog("altered messages");
  std::vector<std::string> errors(2);
  LoopbackHub hub(2);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      std::shared_ptr<Transport> transport = hub.transport(rank);
      if (rank == 1) transport = std::make_shared<AlteringTransport>(transport, alter);
      Communicator communicator(transport);
      std::vector<float> data(count, 1.0f);
      try {
        allreduce(std::span(data), communicator, options);
      } catch (const Error& error) {
        errors[std::size_t(rank)] = error.what();
        EXPECT_EQ(data, std::vector<float>(count, 1.0f)) << "an output was touched";
      }
    });
  threads.clear();
  return errors;
}

TEST(ShortCalls, ElementsThatWereChangedAreAnErrorWithChecksums) {
  const Alter flip = [](std::vector<std::byte>& bytes, int, std::uint32_t) {
    bytes[head_bytes + 30] ^= std::byte{16};
    return true;
  };
  EXPECT_EQ(errors_with(flip, {.codec = "raw", .checksum = "on"})[0],
            "the agreement of a call: words of rank 1 were changed on their way");
  EXPECT_EQ(errors_with(flip, {.codec = "raw", .checksum = "off"})[0], "") << "nobody looks";
}

TEST(ShortCalls, ElementsThatAreMissingAreAnError) {
  for (const char* const checksum : {"on", "off"})
    for (const std::size_t bytes : {head_bytes + 396, head_bytes, head_bytes - 1, std::size_t{0}}) {
      const auto errors = errors_with(
          [&](std::vector<std::byte>& message, int, std::uint32_t) {
            message.resize(bytes);
            return true;
          },
          {.codec = "raw", .checksum = checksum});
      EXPECT_NE(errors[0].find(std::to_string(bytes) + " bytes came from rank 1"),
                std::string::npos)
          << errors[0];
    }
}

constexpr std::size_t of_two_sections = 15000;  // elements

/// Behind the words.
TEST(ShortCalls, ASectionOfAnotherLengthIsAnError) {
  for (const std::size_t bytes :
       {std::size_t{0}, 4 * of_two_sections - ShortSum::section_bytes - 4}) {
    const auto errors = errors_with(
        [&](std::vector<std::byte>& message, int, std::uint32_t tag) {
          if (tag == section_tag) message.resize(bytes);
          return true;
        },
        {.codec = "raw"}, of_two_sections);
    EXPECT_NE(errors[0].find(std::to_string(bytes) + " bytes came from rank 1"), std::string::npos)
        << errors[0];
  }
}

/// Words with a right checksum that announce more than any rank has memory for.
TEST(ShortCalls, SectionsThatAreTooManyAreRefused) {
  const auto error_where_announced = [](std::uint64_t bytes) {
    return errors_with(
        [bytes](std::vector<std::byte>& message, int, std::uint32_t tag) {
          if (tag != call_tag) return true;
          AgreementWords::Table table;
          std::memcpy(&table, message.data(), sizeof table);
          table.elements = (table.elements & ~std::uint64_t{0xffffffff}) | bytes;
          AgreementWords words;
          const auto forged = words.message_of(table);
          std::memcpy(message.data(), forged.data(), forged.size());
          return true;
        },
        {.codec = "raw", .timeout = 0.1}, of_two_sections)[0];
  };
  for (const std::uint64_t bytes : {ShortSum::max_bytes + 4, std::size_t{0xffffffff}})
    EXPECT_EQ(error_where_announced(bytes),
              "the agreement of a call: words of rank 1 were changed on their way");
  EXPECT_EQ(error_where_announced(4 * of_two_sections), "") << "the words are well made";
  EXPECT_NE(error_where_announced(ShortSum::max_bytes).find("bytes came from rank 1"),
            std::string::npos)
      << "so many are looked for";
}

/// Words that were changed end a call on rank 0 alone, which has not asked for the sections behind
/// them: a later call with the same channel would take them for its own. With a timeout it would go
/// on. What it tells in later calls comes, though it takes no part of theirs.
void leave_sections(int ranks, const LoopbackOptions& options) {
  const Watchdog watchdog("sections of a call that ended");
  constexpr int calls = 6;
  LoopbackHub hub(ranks, options);
  const auto call = [&](Communicator& communicator) -> std::string {
    std::vector<float> data(of_two_sections, 1.0f);
    try {
      allreduce(std::span(data), communicator,
                {.codec = "raw", .algorithm = "recursive_doubling", .timeout = 30});
    } catch (const Error& error) {
      return error.what();
    }
    EXPECT_EQ(data, std::vector<float>(of_two_sections, float(ranks)));
    return {};
  };
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      std::shared_ptr<Transport> transport = hub.transport(rank);
      bool altered = rank != ranks / 2;  // who sends to rank 0 in the last hop
      const Alter alter = [&](std::vector<std::byte>& bytes, int peer, std::uint32_t tag) {
        if (peer == 0 && tag == call_tag && !std::exchange(altered, true))
          bytes[20] ^= std::byte{1};
        return true;
      };
      if (!altered) transport = std::make_shared<AlteringTransport>(transport, alter);
      Communicator communicator(transport);
      const std::string first = call(communicator);
      if (rank == 0)
        EXPECT_NE(first.find("words of rank " + std::to_string(ranks / 2)), std::string::npos);
      else
        EXPECT_EQ(first, "") << rank;
      for (int i = 1; i < calls; ++i) {
        const std::string later = call(communicator);
        EXPECT_NE(later.find("make a new communicator"), std::string::npos) << later;
        EXPECT_EQ(later.find("rank 0: "), 0u) << "on rank " << rank << ", call " << i;
      }
    });
}

TEST(ShortCalls, SectionsThatNobodyAskedForMeetNoLaterCall) {
  leave_sections(2, {.channels = 2});
  leave_sections(4, {.channels = 2, .nodes = {7, 7, 9, 9}, .node_windows = true});
}

}  // namespace
}  // namespace cohom::test
