// OutcomeAgreement without a transport: whatever the order in which messages arrive, all ranks end
// with the same outcome, and a failure ends the waiting of those who have nothing to tell yet.

#include "agreement/outcome_agreement.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

namespace cohom::test {
namespace {

/// Messages on their way between ranks that one thread plays.
class Post {
 public:
  struct Receive {
    std::span<std::byte> buffer;
    std::uint64_t cookie;
  };
  std::map<std::tuple<int, int, std::uint32_t>, std::vector<std::byte>> sent;  // from, to, tag
  std::map<std::tuple<int, int, std::uint32_t>, Receive> expected;
  std::deque<std::pair<int, Completion>> sends_done;
};

class PostChannel final : public Channel {
 public:
  PostChannel(Post& post, int rank) : post_(post), rank_(rank) {}
  void send(std::span<const std::byte> data, int peer, std::uint32_t tag,
            std::uint64_t cookie) override {
    post_.sent[{rank_, peer, tag}].assign(data.begin(), data.end());
    post_.sends_done.push_back({rank_, {cookie, data.size()}});
  }
  void receive(std::span<std::byte> buffer, int peer, std::uint32_t tag,
               std::uint64_t cookie) override {
    post_.expected[{peer, rank_, tag}] = {buffer, cookie};
  }
  std::size_t poll(std::span<Completion>) override { return 0; }

 private:
  Post& post_;
  int rank_;
};

struct Group {
  explicit Group(int ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      channels.push_back(std::make_unique<PostChannel>(post, rank));
      agreements.push_back(std::make_unique<OutcomeAgreement>(*channels.back(), rank, ranks));
    }
  }

  /// Delivers what is under way, in an order that the seed draws.
  void deliver(std::mt19937_64& random) {
    while (!post.sent.empty() || !post.sends_done.empty()) {
      for (; !post.sends_done.empty(); post.sends_done.pop_front())
        agreements[std::size_t(post.sends_done.front().first)]->complete(
            post.sends_done.front().second);
      if (post.sent.empty()) return;
      const auto next = std::next(post.sent.begin(), std::ptrdiff_t(random() % post.sent.size()));
      const auto message = *next;
      post.sent.erase(next);
      const auto place = post.expected.at(message.first);
      std::memcpy(place.buffer.data(), message.second.data(), message.second.size());
      agreements[std::size_t(std::get<1>(message.first))]->complete({place.cookie, 8});
    }
  }

  Post post;
  std::vector<std::unique_ptr<PostChannel>> channels;
  std::vector<std::unique_ptr<OutcomeAgreement>> agreements;
};

TEST(OutcomeAgreement, AllRanksTellWell) {
  std::mt19937_64 random(1);
  for (int ranks = 1; ranks <= 17; ++ranks) {
    Group group(ranks);
    for (int rank = 0; rank + 1 < ranks; ++rank) {
      group.agreements[std::size_t(rank)]->tell(false);
      group.deliver(random);
      EXPECT_FALSE(group.agreements[std::size_t(rank)]->done()) << "one rank is missing";
    }
    group.agreements.back()->tell(false);
    group.deliver(random);
    for (const auto& agreement : group.agreements) {
      EXPECT_TRUE(agreement->done() && agreement->told()) << ranks << " ranks";
      EXPECT_FALSE(agreement->failed());
    }
  }
}

/// The ranks that have told nothing learn of it, too, and need tell nothing any more.
TEST(OutcomeAgreement, OneFailureIsEverybodys) {
  for (std::uint64_t seed = 0; seed < 40; ++seed)
    for (int ranks = 2; ranks <= 17; ++ranks) {
      std::mt19937_64 random(seed);
      Group group(ranks);
      const auto failing = std::size_t(random() % std::uint64_t(ranks));
      for (std::size_t rank = 0; rank < std::size_t(ranks); ++rank)
        if (rank != failing && random() % 2 == 0 && !group.agreements[rank]->told())
          group.agreements[rank]->tell(false);
      if (random() % 2 == 0) group.deliver(random);
      group.agreements[failing]->tell(true);
      group.deliver(random);
      for (const auto& agreement : group.agreements)
        EXPECT_TRUE(agreement->done() && agreement->failed())
            << ranks << " ranks, " << failing << " fails, seed " << seed;
    }
}

}  // namespace
}  // namespace cohom::test
