// The sums of a slot, by the very lines that the kernel runs.

#include "kernels/ebpf/pool.h"

#include "aggregation/protocol/merge_code.hpp"
#include "word_merges.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

namespace cohom {
namespace {

using Words = std::vector<std::uint64_t>;

constexpr std::uint64_t three_members = 0b1011;  // members 0, 1 and 3, as workers 0, 1 and 3

class Pool : public testing::Test {
 protected:
  static cohom_header packet(std::uint32_t sequence, std::uint32_t worker, std::size_t words,
                             MergeKind merge = MergeKind::add) {
    cohom_header header{};
    header.epoch = 77;
    header.sequence = sequence;
    header.worker = static_cast<__u16>(worker);
    header.words = static_cast<__u16>(words);
    header.merge = *offload::merge_code({merge});
    header.call = 5 + sequence;
    return header;
  }

  int contribute(const cohom_header& header, const Words& words, bool parent = false) {
    load(words);
    return cohom_contribute(&slot_->pools[header.sequence & 1], &slot_->pools[~header.sequence & 1],
                            &header, header.worker, three_members, parent, payload_.get());
  }
  int receive_sum(const cohom_header& header, const Words& words) {
    load(words);
    return cohom_receive_sum(&slot_->pools[header.sequence & 1], &header, payload_.get());
  }
  [[nodiscard]] Words leaves(std::size_t words) const {
    return {payload_->words, payload_->words + words};
  }
  /// All three contribute one word.
  void complete(std::uint32_t sequence) {
    EXPECT_EQ(contribute(packet(sequence, 0, 1), {sequence}), cohom_kept);
    EXPECT_EQ(contribute(packet(sequence, 1, 1), {10}), cohom_kept);
    EXPECT_EQ(contribute(packet(sequence, 3, 1), {100}), cohom_multicast);
    EXPECT_EQ(leaves(1), Words{sequence + 110});
  }

 private:
  void load(const Words& words) {
    std::fill(std::begin(payload_->words), std::end(payload_->words), ~std::uint64_t{0});
    std::ranges::copy(words, payload_->words);
    payload_->blocks =
        static_cast<__u32>((words.size() + cohom_block_words - 1) / cohom_block_words);
  }

 protected:
  std::unique_ptr<cohom_slot> slot_ = std::make_unique<cohom_slot>();
  std::unique_ptr<cohom_payload> payload_ = std::make_unique<cohom_payload>();
};

TEST_F(Pool, MergesAllLengthsInAnyOrder) {
  std::mt19937_64 random(3);
  std::uint32_t sequence = 0;
  for (std::size_t words : {1, 2, 15, 16, 17, 384, 1023, 1024}) {
    for (const MergeKind merge : test::word_merges) {
      Words sum(words);
      std::vector<std::uint32_t> order{0, 1, 3};
      std::ranges::shuffle(order, random);
      for (std::uint32_t worker : order) {
        Words mine(words);
        for (std::size_t w = 0; w < words; ++w) {
          mine[w] = random();
          sum[w] = test::merged(merge, sum[w], mine[w]);
        }
        const int verdict = contribute(packet(sequence, worker, words, merge), mine);
        EXPECT_EQ(verdict, worker == order.back() ? cohom_multicast : cohom_kept);
      }
      EXPECT_EQ(leaves(words), sum) << words << " words, " << name_of(merge);
      ++sequence;
    }
  }
}

/// Every pair of bytes in every place, and of 16-bit parts those where a bit decides.
TEST_F(Pool, FindsTheLargestOfAllParts) {
  constexpr std::uint64_t ones = 0x0101010101010101;
  std::uint32_t sequence = 0;
  const auto expect_largest = [&](MergeKind merge, const Words& a, const Words& b) {
    Words expected;
    for (std::size_t i = 0; i < a.size(); ++i) expected.push_back(test::merged(merge, a[i], b[i]));
    contribute(packet(sequence, 0, a.size(), merge), a);
    contribute(packet(sequence, 1, a.size(), merge), b);
    EXPECT_EQ(contribute(packet(sequence, 3, a.size(), merge), a), cohom_multicast);
    EXPECT_EQ(leaves(a.size()), expected) << name_of(merge) << " of " << std::hex << a[0];
    ++sequence;
  };
  Words all(256), alike(256), mixed(256);
  for (std::uint64_t i = 0; i < 256; ++i) all[i] = ones * i;
  for (std::uint64_t byte = 0; byte < 256; ++byte) {
    alike.assign(256, ones * byte);
    expect_largest(MergeKind::max8, all, alike);
    for (std::uint64_t i = 0; i < 256; ++i)  // neighbours must not matter
      mixed[i] = i % 2 == 0 ? 0xff00ff00ff00ff00 | byte : 0x00ff00ff00ff00ff | byte << 56;
    expect_largest(MergeKind::max8, all, mixed);
    expect_largest(MergeKind::max16, all, alike);
    expect_largest(MergeKind::max16, all, mixed);
  }
  const std::vector<std::uint64_t> telling{0, 1, 2, 0x7ffe, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff};
  for (const std::uint64_t high : telling)
    for (const std::uint64_t low : telling) {
      Words words;
      for (const std::uint64_t other : telling)
        words.push_back(other << 48 | low << 32 | other << 16 | high);
      expect_largest(MergeKind::max16, words, Words(words.size(), high << 48 | low << 16));
      expect_largest(MergeKind::max16, Words(words.size(), low << 48 | high), words);
    }
}

TEST_F(Pool, NeverAddsTwice) {
  EXPECT_EQ(contribute(packet(0, 1, 1), {10}), cohom_kept);
  EXPECT_EQ(contribute(packet(0, 1, 1), {10}), cohom_told_waiting);
  EXPECT_EQ(contribute(packet(0, 0, 1), {1}), cohom_kept);
  EXPECT_EQ(contribute(packet(0, 3, 1), {100}), cohom_multicast);
  EXPECT_EQ(leaves(1), Words{111});
  // From now on the finished pool answers, also after the next use has begun.
  EXPECT_EQ(contribute(packet(0, 0, 1), {1}), cohom_answered);
  EXPECT_EQ(leaves(1), Words{111});
  EXPECT_EQ(contribute(packet(1, 0, 1), {7}), cohom_kept);
  EXPECT_EQ(contribute(packet(0, 3, 1), {100}), cohom_answered);
  EXPECT_EQ(leaves(1), Words{111});
}

TEST_F(Pool, TakesUsesInOrder) {
  EXPECT_EQ(contribute(packet(1, 0, 1), {1}), cohom_drop_order);
  EXPECT_EQ(contribute(packet(2, 0, 1), {1}), cohom_drop_order);
  complete(0);
  EXPECT_EQ(contribute(packet(2, 0, 1), {1}), cohom_drop_order);
  EXPECT_EQ(contribute(packet(1, 0, 1), {1}), cohom_kept);
  // The pool of use 0 must stay while somebody may lack its sum.
  EXPECT_EQ(contribute(packet(2, 0, 1), {1}), cohom_drop_order);
  EXPECT_EQ(contribute(packet(1, 1, 1), {1}), cohom_kept);
  EXPECT_EQ(contribute(packet(1, 3, 1), {1}), cohom_multicast);
  complete(2);
  complete(3);
  EXPECT_EQ(contribute(packet(1, 0, 1), {1}), cohom_drop_old);
  EXPECT_EQ(contribute(packet(5, 0, 1), {1}), cohom_drop_order);
}

TEST_F(Pool, ANewEpochBeginsAnew) {
  complete(0);
  complete(1);
  auto header = packet(2, 0, 1);
  header.epoch = 78;
  EXPECT_EQ(contribute(header, {1}), cohom_drop_order);
  header.sequence = 0;
  EXPECT_EQ(contribute(header, {1}), cohom_kept);
  EXPECT_EQ(contribute(packet(1, 0, 1), {1}), cohom_answered);
}

TEST_F(Pool, SumsOnlyWhatBelongsTogether) {
  EXPECT_EQ(contribute(packet(0, 0, 2), {1, 2}), cohom_kept);
  const auto changed = [&](auto change) {
    cohom_header header = packet(0, 1, 2);
    change(header);
    return contribute(header, {3, 4});
  };
  EXPECT_EQ(changed([](auto& h) { h.call = 6; }), cohom_drop_mismatch);
  EXPECT_EQ(changed([](auto& h) { h.round = 1; }), cohom_drop_mismatch);
  EXPECT_EQ(changed([](auto& h) { h.reduction = 1; }), cohom_drop_mismatch);
  EXPECT_EQ(changed([](auto& h) { h.offset = 2; }), cohom_drop_mismatch);
  EXPECT_EQ(changed([](auto& h) { h.words = 1; }), cohom_drop_mismatch);
  EXPECT_EQ(changed([](auto& h) { h.merge = cohom_merge_or; }), cohom_drop_mismatch);
  EXPECT_EQ(changed([](auto&) {}), cohom_kept);
}

TEST_F(Pool, ALeafWaitsForItsParent) {
  EXPECT_EQ(contribute(packet(0, 0, 1), {1}, true), cohom_kept);
  EXPECT_EQ(receive_sum(packet(0, 0, 1), {1000}), cohom_drop_repeated_sum);
  EXPECT_EQ(contribute(packet(0, 1, 1), {10}, true), cohom_kept);
  EXPECT_EQ(contribute(packet(0, 3, 1), {100}, true), cohom_forward);
  EXPECT_EQ(leaves(1), Words{111});
  EXPECT_EQ(contribute(packet(0, 1, 1), {10}, true), cohom_forward_again);
  EXPECT_EQ(leaves(1), Words{111});
  EXPECT_EQ(contribute(packet(1, 1, 1), {10}, true), cohom_drop_order);
  EXPECT_EQ(receive_sum(packet(1, 0, 1), {1000}), cohom_drop_old);
  EXPECT_EQ(receive_sum(packet(0, 0, 1), {1000}), cohom_multicast);
  EXPECT_EQ(receive_sum(packet(0, 0, 1), {2000}), cohom_drop_repeated_sum);
  EXPECT_EQ(contribute(packet(0, 1, 1), {10}, true), cohom_answered);
  EXPECT_EQ(leaves(1), Words{1000});
  EXPECT_EQ(contribute(packet(1, 1, 1), {10}, true), cohom_kept);
}

}  // namespace
}  // namespace cohom
