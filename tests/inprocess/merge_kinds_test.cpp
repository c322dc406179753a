// Rounds of every merge of words, by every algorithm, and at aggregators that fail or lack the
// merge. The codec is made up, because real ones do not have every kind everywhere.

#include "elements.hpp"
#include "executor/executor.hpp"
#include "loopback_ranks.hpp"
#include "plan/offloading.hpp"
#include "plan/route_choice.hpp"
#include "same_bytes.hpp"
#include "schedule/algorithms/algorithm.hpp"
#include "watchdog.hpp"
#include "word_merges.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace cohom::test {
namespace {

using Words = std::vector<std::uint64_t>;

/// Contributions are the bits of the elements.
class BitsRound : public Round {
 public:
  BitsRound(const RoundTraits& traits, const CallBuffers& call) : Round(traits), call_(call) {}

  [[nodiscard]] std::size_t capacity(std::size_t, std::size_t elements) const override {
    return (elements * size_of(call_.type) + 7) / 8;
  }
  std::size_t encode(std::size_t contributions, const Piece& piece, Payload out) override {
    const std::size_t words = capacity(contributions, piece.count);
    out[words - 1] = 0;
    std::memcpy(out.data(), call_.input_at(piece.first), piece.count * size_of(call_.type));
    return words;
  }

 protected:
  const CallBuffers& call_;
};

class AgreedBits final : public BitsRound {
 public:
  AgreedBits(MergeKind merge, const CallBuffers& call)
      : BitsRound({.name = "agreed", .merge = {merge}}, call) {}

  [[nodiscard]] ConstPayload bits(const Piece& piece) const { return agreed(piece); }
};

/// What both rounds came to, in one word.
std::uint64_t both(std::uint64_t agreed, std::uint64_t sum) { return agreed ^ std::rotl(sum, 7); }

class BitsPayload final : public BitsRound {
 public:
  BitsPayload(MergeKind merge, const AgreedBits& agreed, const CallBuffers& call)
      : BitsRound({.name = "payload", .merge = {merge}, .time = RoundTime::payload}, call),
        agreed_bits_(agreed) {}

  void decode(const Piece& piece, ConstPayload sum, std::size_t) override {
    const ConstPayload agreed = agreed_bits_.bits(piece);
    Words words(sum.size());
    for (std::size_t w = 0; w < words.size(); ++w) words[w] = both(agreed[w], sum[w]);
    std::memcpy(call_.output_at(piece.first), words.data(), piece.count * size_of(call_.type));
  }

 private:
  const AgreedBits& agreed_bits_;
};

/// What ranks agree on merges by one kind, the payload by another.
struct Kinds {
  MergeKind agreed = MergeKind::add, payload = MergeKind::add;

  [[nodiscard]] std::string name() const {
    return std::string(name_of(agreed)) + " before " + std::string(name_of(payload));
  }
};

class BitsCodec final : public Codec {
 public:
  explicit BitsCodec(const Kinds& kinds)
      : agreed_(kinds.agreed, call_), payload_(kinds.payload, agreed_, call_) {
    add(agreed_);
    add(payload_);
  }
  [[nodiscard]] std::size_t block() const override { return 256; }

 private:
  AgreedBits agreed_;
  BitsPayload payload_;
};

std::vector<Kinds> all_kinds() {
  std::vector<Kinds> all;
  for (const MergeKind kind : word_merges) {
    all.push_back({.agreed = kind, .payload = MergeKind::add});
    all.push_back({.agreed = MergeKind::bit_or, .payload = kind});
  }
  return all;
}

/// 4-byte elements of any bits: an odd number of them, so that the last word is half empty.
constexpr std::size_t count = 5001;

Words words_of_rank(int rank) {
  Words words((count + 1) / 2);
  for (std::size_t w = 0; w < words.size(); ++w)
    words[w] = (std::uint64_t(rank) * 0x2545f4914f6cdd1d + w + 1) * 0x9e3779b97f4a7c15;
  words.back() &= 0xffffffff;
  return words;
}

Bytes elements_of(const Words& words) {
  Bytes bytes(count * 4);
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

Bytes expected_of(const Kinds& kinds, int ranks) {
  Words agreed = words_of_rank(0), sum = agreed;
  for (int r = 1; r < ranks; ++r) {
    const Words others = words_of_rank(r);
    for (std::size_t w = 0; w < sum.size(); ++w) {
      agreed[w] = merged(kinds.agreed, agreed[w], others[w]);
      sum[w] = merged(kinds.payload, sum[w], others[w]);
    }
  }
  for (std::size_t w = 0; w < sum.size(); ++w) sum[w] = both(agreed[w], sum[w]);
  return elements_of(sum);
}

/// One rank's codec and executor.
class Rank {
 public:
  Rank(Transport& transport, const Kinds& kinds, const AlgorithmRow& algorithm,
       Aggregator* aggregator)
      : transport_(transport),
        codec_(kinds),
        executor_({.place = {.rank = transport.rank(), .ranks = transport.ranks()},
                   .elements = count,
                   .codec = &codec_,
                   .kernels = &kernels::kernel_table(),
                   .algorithm = &algorithm,
                   .aggregator = algorithm.needs_aggregator ? aggregator : nullptr,
                   .segment = 512,
                   .message_bytes = transport.preferred_message_bytes(),
                   .tuning = {}}) {
    executor_.workspace().take();
  }

  [[nodiscard]] Executor& executor() { return executor_; }

  void call(std::uint32_t number, const Bytes& input, Bytes& output) {
    const auto channel = transport_.open(number);
    executor_.offloaded().reserve(number);
    executor_.begin({.input = input.data(), .output = output.data()}, *channel);
    executor_.release();
    std::array<Completion, 8> done;
    while (!executor_.done()) {
      const std::size_t arrived = channel->poll(done);
      for (std::size_t i = 0; i < arrived; ++i) executor_.complete(done[i]);
      if (executor_.fallback_rounds_due())
        static_cast<void>(executor_.offer_fallback_rounds("bits"));
      if (!executor_.advance() && arrived == 0) std::this_thread::yield();
    }
    while (!channel->flushed()) std::this_thread::yield();
    executor_.end();
  }

 private:
  Transport& transport_;
  BitsCodec codec_;
  Executor executor_;
};

using RankBody = std::function<void(LoopbackHub&, int)>;

/// As on_ranks(), without communicators.
void on_bare_ranks(int ranks, const LoopbackOptions& options, const RankBody& body) {
  LoopbackHub hub(ranks, options);
  on_ranks(ranks, [&](int rank, Communicator&) { body(hub, rank); });
}

/// Two calls, of which the second is in place.
void expect_right(Rank& rank, int number, const Bytes& expected, const std::string& what) {
  Bytes input = elements_of(words_of_rank(number)), output(input.size());
  rank.call(0, input, output);
  EXPECT_TRUE(same_bytes(output, expected)) << what;
  EXPECT_TRUE(same_bytes(input, elements_of(words_of_rank(number)))) << what;
  rank.call(1, input, input);
  EXPECT_TRUE(same_bytes(input, expected)) << what << ", in place";
}

void expect_right_by(const AlgorithmRow& algorithm, int ranks, const LoopbackOptions& options,
                     bool repeats) {
  for (const Kinds& kinds : all_kinds()) {
    const std::string what = kinds.name() + " by " + std::string(algorithm.name) + ", " +
                             std::to_string(ranks) + " ranks";
    const Watchdog watchdog(what);
    const Bytes expected = expected_of(kinds, ranks);
    on_bare_ranks(ranks, options, [&](LoopbackHub& hub, int number) {
      const auto transport = hub.transport(number);
      const auto aggregator =
          algorithm.in_network ? hub.network(number) : hub.native_reductions(number);
      Rank rank(*transport, kinds, algorithm, aggregator.get());
      expect_right(rank, number, expected, what);
      EXPECT_EQ(rank.executor().offloaded().repeated(), repeats) << what;
    });
  }
}

TEST(MergeKinds, SameBitsByEveryAlgorithm) {
  for (const int ranks : {2, 3, 5, 8})
    for (const AlgorithmRow& algorithm : algorithm_table())
      expect_right_by(algorithm, ranks, {}, false);
}

TEST(MergeKinds, SameBitsWhenAnAggregatorFails) {
  const auto faults = std::make_shared<AggregatorFaults>();
  faults->loss = [](const AggregatorFaults::Part& part) {
    using Loss = AggregatorFaults::Loss;
    return part.rank == 1 && part.number == 2 ? Loss::sum : Loss::none;
  };
  for (const int ranks : {2, 5})
    expect_right_by(*find_algorithm("offload"), ranks, {.faults = faults}, true);
}

/// As programs of before max8 and max16.
bool is_old_merge(Merge merge) {
  return merge.kind == MergeKind::add || merge.kind == MergeKind::bit_or ||
         merge.kind == MergeKind::max || merge.kind == MergeKind::add_float;
}

TEST(MergeKinds, AnOlderAggregatorIsNotAskedForOnesThatCameLater) {
  const auto faults = std::make_shared<AggregatorFaults>();
  faults->supports = is_old_merge;
  on_bare_ranks(2, {.faults = faults}, [&](LoopbackHub& hub, int number) {
    const auto transport = hub.transport(number);
    for (const Kinds& kinds : all_kinds()) {
      Offloading network(hub.network(number));
      Rank rank(*transport, kinds, *find_algorithm("offload"), &network.aggregator());
      std::string expected;
      for (const MergeKind kind : {kinds.agreed, kinds.payload})
        if (!is_old_merge({kind}))
          expected = "not supported: loopback does not merge by " + std::string(name_of(kind));
      EXPECT_EQ(rank.executor().offloaded().refusal(), expected) << kinds.name();
      EXPECT_EQ(network.ready(rank.executor().offloaded(), 0), expected.empty()) << kinds.name();
    }
  });
}

/// MPI, if it lacked an operation.
class OldReductions final : public Aggregator {
 public:
  explicit OldReductions(std::shared_ptr<Aggregator> real) : real_(std::move(real)) {}

  [[nodiscard]] std::string_view name() const override { return "old"; }
  [[nodiscard]] bool supports(Merge merge) const override { return is_old_merge(merge); }
  [[nodiscard]] bool ready() override { return real_->ready(); }
  [[nodiscard]] bool may_fail() const override { return false; }
  std::unique_ptr<Reduction> open(std::uint64_t call, int round, std::size_t reductions) override {
    return real_->open(call, round, reductions);
  }

 private:
  std::shared_ptr<Aggregator> real_;
};

/// Rounds before the payload go from rank to rank, and a payload is refused when the plan is made.
TEST(MergeKinds, AFabricThatLacksThem) {
  for (const MergeKind kind : {MergeKind::max8, MergeKind::max16}) {
    const Watchdog watchdog("a fabric without " + std::string(name_of(kind)));
    on_bare_ranks(3, {}, [&](LoopbackHub& hub, int number) {
      const auto transport = hub.transport(number);
      OldReductions old(hub.native_reductions(number));
      const Kinds before{.agreed = kind, .payload = MergeKind::add};
      Rank rank(*transport, before, *find_algorithm("fabric"), &old);
      expect_right(rank, number, expected_of(before, 3), before.name());
      try {
        Rank(*transport, {.payload = kind}, *find_algorithm("fabric"), &old);
        ADD_FAILURE() << "no error";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::unsupported);
        EXPECT_EQ(error.what(), "algorithm fabric cannot merge by " + std::string(name_of(kind)) +
                                    "; take " + algorithms_of_ranks() + ", or another codec");
      }
    });
  }
}

/// `auto` takes an aggregator that may be replaced for what all of any age merge.
TEST(MergeKinds, AutoWantsPayloadsThatEveryAggregatorMerges) {
  on_bare_ranks(2, {}, [&](LoopbackHub& hub, int number) {
    const auto transport = hub.transport(number);
    Offloading network(hub.network(number));
    const PlanEnvironment environment{.transport = transport.get(),
                                      .offloading = [&](const std::string&) { return &network; },
                                      .tuning = {}};
    for (const MergeKind kind : word_merges) {
      const auto choose = [&](const std::string& algorithm) {
        return choose_route(
            environment, {.codec = "bits", .algorithm = algorithm, .transport = {}},
            {.codec = "bits", .payload = {.kind = kind}, .bytes = std::size_t{1} << 20});
      };
      const RouteChoice found = choose("auto");
      EXPECT_EQ(found.selection.algorithm->in_network, is_old_merge({kind})) << name_of(kind);
      EXPECT_EQ(found.not_offloaded, is_old_merge({kind})
                                         ? ""
                                         : "not every aggregator merges by " +
                                               std::string(name_of(kind)) +
                                               "; algorithm=offload takes one that does");
      EXPECT_EQ(choose("offload").network, &network) << name_of(kind);
    }
  });
}

}  // namespace
}  // namespace cohom::test
