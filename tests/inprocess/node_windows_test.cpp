// Calls give the same bits with node windows and without, for every codec and algorithm.

#include "codec_specs.hpp"
#include "elements.hpp"
#include "forwarding_transport.hpp"
#include "loopback_ranks.hpp"
#include "rank_inputs.hpp"
#include "same_bytes.hpp"
#include "thoroughness.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/plan.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace cohom::test {
namespace {

/// By rank: the results of all calls, one behind the other.
std::vector<Bytes> results(const std::vector<std::uint64_t>& nodes, bool windows, bool checksum) {
  const int ranks = int(nodes.size());
  constexpr std::size_t count = 20001;  // several messages, and a ragged tail
  const RankInputs inputs(ranks, ElementType::f32, count);
  std::vector<Bytes> by_rank(nodes.size());
  on_ranks(ranks, {.preferred_message_bytes = 16384, .nodes = nodes, .node_windows = windows},
           [&](int rank, Communicator& communicator) {
             Bytes& all = by_rank[std::size_t(rank)];
             for (const CodecSpec& codec : specs_for(ranks))
               for (const AlgorithmRow& algorithm : algorithms_for(codec.spec)) {
                 if (algorithm.needs_aggregator) continue;
                 Bytes data = inputs.bytes(rank);
                 AllreducePlan plan(communicator, count, ElementType::f32,
                                    {.codec = std::string(codec.spec),
                                     .algorithm = std::string(algorithm.name),
                                     .checksum = checksum ? "on" : "off"});
                 plan.execute(data.data(), data.data());
                 all.insert(all.end(), data.begin(), data.end());
               }
           });
  return by_rank;
}

TEST(NodeWindows, ChangeNoBits) {
  const std::vector<std::uint64_t> nodes{0, 1, 1};
  const auto without = results(nodes, false, false);
  EXPECT_EQ(results(nodes, true, false), without);
  EXPECT_EQ(results(nodes, true, true), without) << "with checksums";
}

/// Counts what a rank reads at others, and does not copy.
class Reading final : public ForwardingTransport {
 public:
  Reading(std::shared_ptr<Transport> transport, std::size_t& count)
      : ForwardingTransport(std::move(transport)), count_(count) {}
  std::unique_ptr<Channel> open(std::uint32_t number) override {
    return std::make_unique<ReadingChannel>(ForwardingTransport::open(number), count_);
  }

 private:
  class ReadingChannel final : public ForwardingChannel {
   public:
    ReadingChannel(std::unique_ptr<Channel> channel, std::size_t& count)
        : ForwardingChannel(std::move(channel)), count_(count) {}
    void receive_or_lend(std::span<std::byte> buffer, int peer, std::uint32_t tag,
                         std::uint64_t cookie) override {
      channel().receive_or_lend(buffer, peer, tag, cookie);
    }
    void give_back(const std::byte* lent) override {
      ++count_;
      channel().give_back(lent);
    }

   private:
    std::size_t& count_;
  };

  std::size_t& count_;
};

// Of n ranks each reads n - 1 contributions to its chunk and, but for raw vectors, n - 1 sums.
TEST(NodeWindows, HavePayloadsOfFixedLengthReadWhereTheyLie) {
  struct Case {
    const char* codec;
    std::size_t reads;
  };
  for (const Case& c : {Case{"raw", 2}, {"thc", 4}, {"packed", 0}}) {
    LoopbackHub hub(3, {.nodes = {0, 0, 0}, .node_windows = true});
    std::vector<std::size_t> reads(3);
    std::vector<std::jthread> ranks;
    for (int rank = 0; rank < 3; ++rank)
      ranks.emplace_back([&, rank] {
        Communicator communicator(
            std::make_shared<Reading>(hub.transport(rank), reads[std::size_t(rank)]));
        std::vector<float> in(3 * 8192, 1.0f), out(3 * 8192);
        allreduce(in.data(), out.data(), in.size(), ElementType::f32, communicator,
                  {.codec = c.codec, .algorithm = "direct", .segment = 8192});
      });
    ranks.clear();
    EXPECT_EQ(reads, std::vector<std::size_t>(3, c.reads)) << c.codec;
  }
}

void carry_many_calls_at_once(const Options& options) {
  on_ranks(3, {.nodes = {0, 0, 0}, .node_windows = true},
           [&](int rank, Communicator& communicator) {
             constexpr std::size_t calls = 40, count = 5000;
             std::vector<std::vector<float>> data(calls, std::vector<float>(count));
             std::vector<Request> requests;
             for (std::size_t call = 0; call < calls; ++call) {
               for (std::size_t i = 0; i < count; ++i)
                 data[call][i] = float(call) + float(i % 100) * float(rank + 1);
               requests.push_back(allreduce_start(data[call].data(), data[call].data(), count,
                                                  ElementType::f32, communicator, options));
             }
             for (std::size_t call = calls; call-- > 0;) requests[call].wait();
             for (std::size_t call = 0; call < calls; ++call)
               for (std::size_t i = 0; i < count; ++i)
                 ASSERT_EQ(data[call][i], float(3 * call) + float(i % 100) * 6.0f);
           });
}

TEST(NodeWindows, CarryManyCallsAtOnce) {
  for (const char* const algorithm : {"direct", "auto"})  // in messages, and on the board
    carry_many_calls_at_once({.codec = "raw", .algorithm = algorithm});
}

// Merges read what two other ranks sent where it lies, in calls that fill all slots of a link.
TEST(NodeWindows, CarryManyLongCallsAtOnce) {
  on_ranks(4, {.nodes = {0, 0, 0, 0}, .node_windows = true},
           [](int rank, Communicator& communicator) {
             constexpr std::size_t calls = 12, count = std::size_t{1} << (sanitized ? 18 : 20);
             std::vector<std::vector<float>> data(calls);
             std::vector<Request> requests;
             for (std::size_t call = 0; call < calls; ++call) {
               data[call].assign(count, float(call) + float(rank));
               requests.push_back(allreduce_start(
                   data[call].data(), data[call].data(), count, ElementType::f32, communicator,
                   {.codec = "raw", .algorithm = "direct", .segment = 65536}));
             }
             for (Request& request : requests) request.wait();
             for (std::size_t call = 0; call < calls; ++call)
               ASSERT_EQ(data[call], std::vector<float>(count, float(4 * call) + 6.0f));
           });
}

}  // namespace
}  // namespace cohom::test
