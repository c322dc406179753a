// Programs that use public names of before the glossary still compile, and mean the same.

#include <cohom/offload.hpp>
#include <cohom/profile.hpp>
#include <cohom/transport.hpp>
#include <cohom/widening.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <thread>
#include <type_traits>

namespace cohom {
namespace {

static_assert(std::is_same_v<Widening, Promotion>);

class OldChannel final : public Channel {
 public:
  explicit OldChannel(bool settled) : settled_(settled) {}
  void send(std::span<const std::byte>, int, std::uint32_t, std::uint64_t) override {}
  void receive(std::span<std::byte>, int, std::uint32_t, std::uint64_t) override {}
  std::size_t poll(std::span<Completion>) override { return 0; }
  [[nodiscard]] bool settled() override { return settled_; }

 private:
  bool settled_;
};

TEST(OldNames, AChannelMayOverrideSettled) {
  OldChannel waiting(false), done(true);
  EXPECT_FALSE(static_cast<Channel&>(waiting).flushed());
  EXPECT_TRUE(static_cast<Channel&>(done).flushed());
}

class OldAggregator final : public Aggregator {
 public:
  [[nodiscard]] std::string_view name() const override { return "old"; }
  [[nodiscard]] bool supports(Merge) const override { return true; }
  [[nodiscard]] std::size_t most_words() const override { return 7; }
  [[nodiscard]] bool takes_narrow(const Widening& widening) const override {
    return widening.narrow_width == 4;
  }
  [[nodiscard]] bool ready() override { return true; }
  [[nodiscard]] bool may_fail() const override { return false; }
  std::unique_ptr<Reduction> open(std::uint64_t, int, std::size_t) override { return nullptr; }
};

TEST(OldNames, AnAggregatorMayOverrideMostWords) {
  const OldAggregator old;
  EXPECT_EQ(static_cast<const Aggregator&>(old).max_words(), 7u);
  EXPECT_TRUE(old.takes_narrow({.narrow_width = 4}));
}

TEST(OldNames, AProfileHasLaps) {
  Profile profile;
  profile.start();
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  profile.lap(Phase::wire);
  EXPECT_GE(profile.seconds(Phase::wire), 1e-3);
}

}  // namespace
}  // namespace cohom
