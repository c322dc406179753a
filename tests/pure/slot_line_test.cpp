// How many packets of a line are under way, and what losses do to that.

#include "aggregation/client/slot_line.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohom::offload {
namespace {

constexpr std::uint32_t slots = 64;
constexpr std::size_t packet_words = 4;

/// A line with a reduction that does not end.
class SlotLineWindow : public testing::Test {
 protected:
  SlotLineWindow() {
    stream_.announced = 1;
    stream_.start(words_, words_, 0, 0);
    line_.enter(stream_);
  }

  /// Cuts what may leave; the last one cut.
  SlotLine::Flight* fill() {
    SlotLine::Flight* last = nullptr;
    while (SlotLine::Flight* const flight = line_.cut()) last = flight;
    return last;
  }
  /// Sums come for packets in their order.
  void finish(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      SlotLine::Flight& flight = *line_.oldest();
      line_.finish(flight, std::as_bytes(std::span(words_).subspan(flight.offset, flight.words)));
    }
  }
  /// Packets under way once everything has left that may.
  std::size_t window() {
    while (line_.under_way() > 1) finish(1);
    fill();
    return line_.under_way();
  }

  std::vector<std::uint64_t> words_ = std::vector<std::uint64_t>(packet_words * 10000);
  ReductionStream stream_;
  SlotLine line_{0, slots, packet_words};
};

TEST_F(SlotLineWindow, IsAllSlotsUntilSomethingIsLost) {
  fill();
  EXPECT_EQ(line_.under_way(), slots);
  finish(10);
  fill();
  EXPECT_EQ(line_.under_way(), slots);
}

TEST_F(SlotLineWindow, HalvesOnceForAllLossesOfOneWindow) {
  fill();
  for (SlotLine::Flight& flight : line_.flights()) line_.lost(flight);
  finish(20);
  EXPECT_EQ(line_.cut(), nullptr) << "44 are under way still, and a window of some 34";
  finish(12);
  fill();
  EXPECT_GE(line_.under_way(), slots / 2);
  EXPECT_LT(line_.under_way(), slots / 2 + 8);
}

TEST_F(SlotLineWindow, NeverEndsAndGrowsAgain) {
  for (int i = 0; i < 20; ++i) {
    fill();
    ASSERT_GE(line_.under_way(), 4u);
    // All of this window, so that the next loss is a new one.
    line_.lost(*line_.oldest());
    finish(line_.under_way());
  }
  EXPECT_LT(window(), 16u);
  std::size_t rounds = 0;
  for (; window() < slots; ++rounds) ASSERT_LT(rounds, 40u);
  EXPECT_GT(rounds, 5u) << "slowly";
}

TEST(SlotLine, OfOneSlotGoesOnAfterALoss) {
  std::vector<std::uint64_t> words(8);
  ReductionStream stream;
  stream.announced = 1;
  stream.start(words, words, 0, 0);
  SlotLine line(0, 1, packet_words);
  line.enter(stream);
  SlotLine::Flight* const first = line.cut();
  ASSERT_NE(first, nullptr);
  line.lost(*first);
  line.finish(*first, std::as_bytes(std::span(words).first(packet_words)));
  EXPECT_NE(line.cut(), nullptr);
}

}  // namespace
}  // namespace cohom::offload
