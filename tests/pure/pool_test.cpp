// The sums of a slot, by the very lines that the kernel runs.

#include "kernels/ebpf/pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

namespace cohom {
namespace {

using Words = std::vector<std::uint64_t>;

constexpr std::uint64_t three_members = 0b1011;  // workers 0, 1 and 3

class Pool : public testing::Test {
 protected:
  static cohom_header packet(std::uint32_t sequence, std::uint32_t worker, std::size_t words,
                             cohom_packet_merge merge = cohom_merge_add) {
    cohom_header header{};
    header.epoch = 77;
    header.sequence = sequence;
    header.worker = static_cast<__u16>(worker);
    header.words = static_cast<__u16>(words);
    header.merge = static_cast<__u8>(merge);
    header.call = 5 + sequence;
    return header;
  }

  int contribute(const cohom_header& header, const Words& words, bool parent = false) {
    load(words);
    return cohom_contribute(&slot_->pools[header.sequence & 1], &slot_->pools[~header.sequence & 1],
                            &header, three_members, parent, payload_.get());
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
    for (auto merge : {cohom_merge_add, cohom_merge_or, cohom_merge_max}) {
      Words sum(words);
      std::vector<std::uint32_t> order{0, 1, 3};
      std::ranges::shuffle(order, random);
      for (std::uint32_t worker : order) {
        Words mine(words);
        for (std::size_t w = 0; w < words; ++w) {
          mine[w] = random();
          if (merge == cohom_merge_add) sum[w] += mine[w];
          if (merge == cohom_merge_or) sum[w] |= mine[w];
          if (merge == cohom_merge_max)
            sum[w] = std::max(sum[w] >> 32, mine[w] >> 32) << 32 |
                     std::max(sum[w] & 0xffffffffu, mine[w] & 0xffffffffu);
        }
        const int verdict = contribute(packet(sequence, worker, words, merge), mine);
        EXPECT_EQ(verdict, worker == order.back() ? cohom_multicast : cohom_kept);
      }
      EXPECT_EQ(leaves(words), sum) << words << " words, merge " << merge;
      ++sequence;
    }
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
