// A daemon's slots: every contribution once, in one use after the other, and floats in the order of
// workers.

#include "aggregation/server/sum_slots.hpp"
#include "aggregation/protocol/merge_code.hpp"
#include "aggregation/protocol/narrow.hpp"
#include "word_merges.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>
#include <vector>

namespace cohom::offload {
namespace {

constexpr std::uint64_t members = 0b10110;  // workers 1, 2 and 4, which are members 1, 2 and 4

cohom_header header_of(std::uint32_t worker, std::uint32_t sequence = 0, Merge merge = {}) {
  cohom_header header{};
  header.epoch = 77;
  header.worker = static_cast<__u16>(worker);
  header.slot = 1;
  header.words = 2;
  header.sequence = sequence;
  header.merge = *merge_code(merge);
  return header;
}

using Words = std::vector<std::uint64_t>;

std::span<const std::byte> bytes_of(const Words& words) { return std::as_bytes(std::span(words)); }

Words words_of(float a, float b) {
  Words words(2);
  std::memcpy(words.data(), &a, sizeof a);
  std::memcpy(&words[1], &b, sizeof b);
  return words;
}

class SumSlotsTest : public testing::Test {
 protected:
  cohom_verdict contribute(SumSlots& slots, const cohom_header& header, const Words& words) {
    const auto outcome = slots.contribute(header, header.worker, bytes_of(words));
    if (outcome.words) sum_ = *outcome.words;
    return outcome.verdict;
  }

  SumSlots root_{2, members, false, kernels::kernel_table()};
  SumSlots leaf_{2, members, true, kernels::kernel_table()};
  Words sum_;
};

TEST_F(SumSlotsTest, AddsEveryContributionOnce) {
  EXPECT_EQ(contribute(root_, header_of(4), {1, 2}), cohom_kept);
  EXPECT_EQ(contribute(root_, header_of(4), {1, 2}), cohom_drop_old);
  EXPECT_EQ(contribute(root_, header_of(1), {10, 20}), cohom_kept);
  EXPECT_EQ(contribute(root_, header_of(2, 1), {100, 200}), cohom_drop_order);
  EXPECT_EQ(contribute(root_, header_of(2), {100, 200}), cohom_multicast);
  EXPECT_EQ(sum_, (Words{111, 222}));
  EXPECT_EQ(contribute(root_, header_of(2), {100, 200}), cohom_drop_old);
  EXPECT_EQ(contribute(root_, header_of(2, 1), {1, 1}), cohom_kept);
}

TEST_F(SumSlotsTest, SumsNothingThatDoesNotBelongTogether) {
  EXPECT_EQ(contribute(root_, header_of(1), {1, 2}), cohom_kept);
  cohom_header other = header_of(2);
  other.call = 1;
  EXPECT_EQ(contribute(root_, other, {1, 2}), cohom_drop_mismatch);
  EXPECT_EQ(contribute(root_, header_of(2, 0, {MergeKind::max}), {1, 2}), cohom_drop_mismatch);
  EXPECT_EQ(contribute(root_, header_of(2), {1, 2}), cohom_kept);
}

TEST_F(SumSlotsTest, ASumThatIsBeingSentIsNotChanged) {
  std::vector<SharedWords> sums;
  for (std::uint32_t sequence = 0; sequence < 5; ++sequence)
    for (std::uint32_t worker : {1, 2, 4})
      if (auto outcome =
              root_.contribute(header_of(worker, sequence), worker, bytes_of({sequence, worker}));
          outcome.words)
        sums.push_back(outcome.words);
  ASSERT_EQ(sums.size(), 5u);
  for (std::uint32_t sequence = 0; sequence < 5; ++sequence)
    EXPECT_EQ(*sums[sequence], (Words{3 * sequence, 7}));
}

/// Whoever contributes on and on without taking sums fills no more than two sums a slot.
TEST_F(SumSlotsTest, AFreeSlotHasSentItsSum) {
  const auto all = [&](std::uint32_t sequence) {
    cohom_verdict last = cohom_fine;
    for (std::uint32_t worker : {1, 2, 4})
      last = contribute(root_, header_of(worker, sequence), {1, sequence});
    return last;
  };
  EXPECT_EQ(all(0), cohom_multicast);
  ++*root_.leaving(1);
  EXPECT_EQ(all(1), cohom_kept) << "the sum waits for the one before it to leave";
  EXPECT_EQ(all(1), cohom_drop_old);
  EXPECT_EQ(all(2), cohom_drop_order);
  EXPECT_TRUE(root_.has_waiting_sums());
  EXPECT_FALSE(root_.next_waiting_sum());
  --*root_.leaving(1);
  const auto late = root_.next_waiting_sum();
  ASSERT_TRUE(late);
  EXPECT_EQ(late->header.sequence, 1u);
  EXPECT_EQ(*late->words, (Words{3, 3}));
  EXPECT_FALSE(root_.has_waiting_sums());
  EXPECT_EQ(all(2), cohom_multicast);
}

TEST_F(SumSlotsTest, ALeafWaitsForItsParent) {
  for (std::uint32_t worker : {1, 2}) contribute(leaf_, header_of(worker), {1, 1});
  EXPECT_EQ(leaf_.take_sum(header_of(1), bytes_of({9, 9})).verdict, cohom_drop_repeated_sum);
  EXPECT_EQ(contribute(leaf_, header_of(4), {1, 1}), cohom_forward);
  EXPECT_EQ(sum_, (Words{3, 3}));
  EXPECT_EQ(contribute(leaf_, header_of(4), {1, 1}), cohom_drop_old);
  const auto outcome = leaf_.take_sum(header_of(1), bytes_of({9, 9}));
  EXPECT_EQ(outcome.verdict, cohom_multicast);
  EXPECT_EQ(*outcome.words, (Words{9, 9}));
  EXPECT_EQ(leaf_.take_sum(header_of(1), bytes_of({9, 9})).verdict, cohom_drop_repeated_sum);
}

TEST_F(SumSlotsTest, AddsFloatsInTheOrderOfWorkers) {
  constexpr float large = 16777216;  // one more is lost on it
  const Merge merge{MergeKind::add_float, ElementType::f32};
  const Words one = words_of(1, large), two = words_of(1, 1), four = words_of(large, 1);
  EXPECT_EQ(contribute(root_, header_of(4, 0, merge), four), cohom_kept);
  EXPECT_EQ(contribute(root_, header_of(2, 0, merge), two), cohom_kept);
  EXPECT_EQ(contribute(root_, header_of(1, 0, merge), one), cohom_multicast);
  EXPECT_EQ(sum_, words_of((1.0f + 1) + large, (large + 1.0f) + 1));
  EXPECT_NE(sum_, words_of((large + 1.0f) + 1, (1.0f + 1) + large)) << "the order would not show";
}

TEST_F(SumSlotsTest, MergesWordsByEveryKind) {
  const Words one{0x00ff7f80'80017fff, 9}, two{0xff008080'7fff8000, 0x0100}, four{1, 0x00ff0000};
  std::uint32_t sequence = 0;
  for (const MergeKind kind : test::word_merges) {
    EXPECT_EQ(contribute(root_, header_of(4, sequence, {kind}), four), cohom_kept);
    EXPECT_EQ(contribute(root_, header_of(1, sequence, {kind}), one), cohom_kept);
    EXPECT_EQ(contribute(root_, header_of(2, sequence, {kind}), two), cohom_multicast);
    for (const std::size_t w : {0, 1})
      EXPECT_EQ(sum_[w], test::merged(kind, test::merged(kind, one[w], two[w]), four[w]))
          << name_of(kind);
    ++sequence;
  }
}

TEST(MergeCode, ComesBackAsItWas) {
  for (const MergeKind kind : test::word_merges)
    EXPECT_EQ(merge_of_code(*merge_code({kind})), Merge{kind});
  for (const ElementType type : all_element_types) {
    const Merge merge{MergeKind::add_float, type};
    EXPECT_EQ(merge_of_code(*merge_code(merge)), merge);
  }
  EXPECT_FALSE(merge_code({MergeKind::add_packed}));
  for (const int code : {5, 15, 20, 255})
    EXPECT_FALSE(merge_of_code(static_cast<std::uint8_t>(code))) << code;
}

/// Programs of different age tell each other both: a code in a header, a kind as a bit.
TEST(MergeCode, NumbersStayAsTheyAre) {
  const auto numbers = [](Merge merge) {
    return std::pair(int(merge.kind), int(merge_code(merge).value_or(255)));
  };
  EXPECT_EQ(numbers({MergeKind::add}), std::pair(0, 0));
  EXPECT_EQ(numbers({MergeKind::bit_or}), std::pair(1, 1));
  EXPECT_EQ(numbers({MergeKind::max}), std::pair(2, 2));
  EXPECT_EQ(numbers({MergeKind::add_packed}), std::pair(3, 255));
  EXPECT_EQ(numbers({MergeKind::add_float, ElementType::f32}), std::pair(4, 16));
  EXPECT_EQ(numbers({MergeKind::max8}), std::pair(5, 3));
  EXPECT_EQ(numbers({MergeKind::max16}), std::pair(6, 4));
}

TEST(Narrow, ValuesFollowFromTheWordsOfBothForms) {
  using kernels::body::words_per_block;
  for (const auto& [narrow, wide] :
       std::vector<std::pair<int, int>>{{1, 2}, {1, 3}, {4, 8}, {6, 8}}) {
    const Promotion promotion{
        .narrow_width = std::uint8_t(narrow), .wide_width = std::uint8_t(wide), .block = 256};
    ASSERT_TRUE(is_right(promotion));
    const std::size_t wide_block = wide_block_words(promotion);
    const std::size_t narrow_block = narrow_block_words(promotion);
    EXPECT_EQ(values_of(promotion, 3 * wide_block, 3 * narrow_block), 768u);
    EXPECT_EQ(values_of(promotion, 3 * wide_block, 3 * narrow_block + 1), std::nullopt);
    EXPECT_EQ(values_of(promotion, 3 * wide_block, 2 * narrow_block), std::nullopt);
    for (std::size_t rest : {16, 32, 64, 128}) {
      const std::size_t w = words_per_block(rest, unsigned(wide));
      const std::size_t n = words_per_block(rest, unsigned(narrow));
      const auto values = values_of(promotion, wide_block + w, narrow_block + n);
      ASSERT_TRUE(values) << rest;
      EXPECT_GE(*values, 256 + rest);
      EXPECT_EQ(words_per_block(*values - 256, unsigned(wide)), w);
      EXPECT_EQ(words_per_block(*values - 256, unsigned(narrow)), n);
    }
  }
  EXPECT_EQ(values_of({.narrow_width = 4, .wide_width = 8, .block = 256}, 3, 1), std::nullopt);
}

TEST(Narrow, WhatIsWrong) {
  const Promotion right{.narrow_width = 4, .wide_width = 8, .has_levels = true, .block = 256};
  EXPECT_TRUE(is_right(right));
  const auto wrong = [&](auto change) {
    Promotion promotion = right;
    change(promotion);
    return !is_right(promotion);
  };
  EXPECT_TRUE(wrong([](Promotion& w) { w.narrow_width = 0; }));
  EXPECT_TRUE(wrong([](Promotion& w) { w.narrow_width = 8; }));
  EXPECT_TRUE(wrong([](Promotion& w) { w.narrow_width = 5; }));
  EXPECT_TRUE(wrong([](Promotion& w) { w.wide_width = 64; }));
  EXPECT_TRUE(wrong([](Promotion& w) { w.wide_width = 11; }));
  EXPECT_TRUE(wrong([](Promotion& w) { w.block = 0; }));
  EXPECT_TRUE(wrong([](Promotion& w) { w.block = 257; }));
  EXPECT_TRUE(wrong([](Promotion& w) { w.block = 1u << 20; }));
  EXPECT_TRUE(wrong([](Promotion& w) { w.wide_width = 5, w.levels[3] = 32; }));
}

}  // namespace
}  // namespace cohom::offload
