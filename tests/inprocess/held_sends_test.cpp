// Of a payload that is decoded by a number of the whole vector, half stays at home until ranks have
// agreed on it: the short messages in which they do would otherwise queue behind the payload.

#include "base/tags.hpp"
#include "forwarding_transport.hpp"
#include "rank_inputs.hpp"
#include "testing/loopback_transport.hpp"
#include "watchdog.hpp"

#include <cohom/allreduce.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace cohom::test {
namespace {

constexpr int ranks = 4, mean_round = 2, payload_round = 3;
constexpr std::size_t units = 16;

/// What one rank sent.
struct Seen {
  std::map<int, std::size_t> before_mean, all;  ///< payload messages by peer
};

/// Keeps the mean from its rank until half of the payload has left, and for some time more, in
/// which what is not held would leave as well.
class WatchedChannel final : public ForwardingChannel {
 public:
  WatchedChannel(std::unique_ptr<Channel> channel, Seen& seen)
      : ForwardingChannel(std::move(channel)), seen_(seen) {}

  void send(std::span<const std::byte> data, int peer, std::uint32_t tag,
            std::uint64_t cookie) override {
    if (round_of_cookie(cookie) == payload_round) ++seen_.all[peer];
    ForwardingChannel::send(data, peer, tag, cookie);
  }
  void receive(std::span<std::byte> buffer, int peer, std::uint32_t tag,
               std::uint64_t cookie) override {
    if (round_of_cookie(cookie) == mean_round) expected_.insert(cookie);
    ForwardingChannel::receive(buffer, peer, tag, cookie);
  }
  std::size_t poll(std::span<Completion> out) override {
    std::size_t given = 0;
    for (const Completion& completion : out.first(ForwardingChannel::poll(out)))
      if (expected_.contains(completion.cookie))
        kept_.push_back(completion);
      else
        out[given++] = completion;
    if (kept_.empty() || !half_left() || ++polls_ < 1000) return given;
    if (seen_.before_mean.empty()) seen_.before_mean = seen_.all;
    for (; given < out.size() && !kept_.empty(); kept_.pop_back()) out[given++] = kept_.back();
    return given;
  }
  bool flushed() override { return kept_.empty() && ForwardingChannel::flushed(); }

 private:
  [[nodiscard]] bool half_left() const {
    return seen_.all.size() == ranks - 1 && std::ranges::all_of(seen_.all, [](const auto& peer) {
             return peer.second >= units / 2;
           });
  }

  Seen& seen_;
  std::set<std::uint64_t> expected_;  ///< receives of the mean's round
  std::vector<Completion> kept_;      ///< those that are complete
  int polls_ = 0;
};

class WatchedTransport final : public ForwardingTransport {
 public:
  WatchedTransport(std::shared_ptr<Transport> transport, Seen& seen)
      : ForwardingTransport(std::move(transport)), seen_(seen) {}

  std::unique_ptr<Channel> open(std::uint32_t number) override {
    return std::make_unique<WatchedChannel>(ForwardingTransport::open(number), seen_);
  }

 private:
  Seen& seen_;
};

std::vector<Seen> seen_in_a_call(const std::string& codec) {
  constexpr std::size_t segment = 16384;
  const RankInputs inputs(ranks, ElementType::f32, segment * units, 3);
  LoopbackHub hub(ranks);
  std::vector<Seen> seen(ranks);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      Communicator communicator(
          std::make_shared<WatchedTransport>(hub.transport(rank), seen[std::size_t(rank)]));
      std::vector<std::byte> data(inputs.bytes(rank).begin(), inputs.bytes(rank).end());
      allreduce(data.data(), data.data(), inputs.count(), inputs.type(), communicator,
                {.codec = codec, .algorithm = "direct", .segment = segment});
    });
  threads.clear();
  return seen;
}

TEST(HeldSends, HalfOfThePayloadLeavesOnceRanksAgree) {
  const Watchdog watchdog("held sends");
  for (const Seen& of_rank : seen_in_a_call("marsit:period=none")) {
    ASSERT_EQ(of_rank.all.size(), ranks - 1u);
    for (const auto& [peer, count] : of_rank.all) {
      EXPECT_EQ(count, units) << "to rank " << peer;
      EXPECT_EQ(of_rank.before_mean.at(peer), units / 2) << "to rank " << peer;
    }
  }
}

}  // namespace
}  // namespace cohom::test
