#include "node_window/copy_choice.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace cohom::testing {
namespace {

constexpr std::size_t piece = std::size_t{256} << 10;

/// Copies that take so long, in nanoseconds, through the caches and past them.
struct Machine {
  std::uint64_t through, past;
};

/// How many of `copies` go past the caches.
std::size_t copy(CopyChoice& choice, const Machine& machine, std::size_t copies) {
  std::size_t past = 0;
  for (std::size_t i = 0; i < copies; ++i) {
    const bool past_caches = choice.next();
    past += past_caches ? 1 : 0;
    choice.took(past_caches, piece, past_caches ? machine.past : machine.through);
  }
  return past;
}

constexpr Machine shared_cache{18'000, 22'000}, separate_caches{107'000, 16'000};

class CopyChoiceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_copies_past_caches()) GTEST_SKIP() << "this processor has no such writes here";
  }
  CopyChoice choice;
};

TEST_F(CopyChoiceTest, StaysInASharedCache) {
  copy(choice, shared_cache, 64);
  EXPECT_LE(copy(choice, shared_cache, 4096), 16u) << "tries";
}

TEST_F(CopyChoiceTest, GoesPastSeparateCaches) {
  copy(choice, separate_caches, 64);
  EXPECT_GE(copy(choice, separate_caches, 4096), 4096u - 16);
}

TEST_F(CopyChoiceTest, FollowsAProcessThatMoves) {
  copy(choice, shared_cache, 4096);
  copy(choice, separate_caches, 16);
  EXPECT_GE(copy(choice, separate_caches, 64), 60u) << "a slower copy is seen at once";
  copy(choice, separate_caches, 4096);
  copy(choice, shared_cache, 600);
  EXPECT_LE(copy(choice, shared_cache, 64), 4u) << "a faster one when it is tried";
}

TEST_F(CopyChoiceTest, IsNotMovedByCopiesThatWereInterrupted) {
  copy(choice, shared_cache, 64);
  std::size_t past = 0;
  for (std::size_t i = 0; i < 1000; ++i)
    past += copy(choice, i % 3 == 0 ? Machine{4'000'000, 4'000'000} : shared_cache, 1);
  EXPECT_LE(past, 12u);
}

/// One that gains little may cost the receiver more.
TEST_F(CopyChoiceTest, WantsAClearGain) {
  copy(choice, {20'000, 16'000}, 64);
  EXPECT_LE(copy(choice, {20'000, 16'000}, 4096), 16u);
}

TEST(CopyPastCaches, CopiesEveryByteAndNoOther) {
  constexpr std::size_t room = 1024;
  std::vector<std::byte> from(room + 1);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i % 251);
  for (const std::size_t shift : {0, 1})
    for (const std::size_t bytes : {0, 1, 15, 16, 63, 64, 65, 127, 128, 1000}) {
      alignas(16) std::byte to[room];
      std::memset(to, 0xee, room);
      copy_past_caches(to, from.data() + shift, bytes);
      EXPECT_EQ(std::memcmp(to, from.data() + shift, bytes), 0) << bytes;
      for (std::size_t i = bytes; i < room; ++i) ASSERT_EQ(to[i], std::byte{0xee}) << bytes;
    }
}

}  // namespace
}  // namespace cohom::testing
