// How many packets of a window are under way, and what losses do to that.

#include "aggregation/client/send_window.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohom::offload {
namespace {

constexpr std::uint32_t slots = 64;
constexpr std::size_t packet_words = 4;

/// A window with a reduction that does not end.
class SendWindowSize : public testing::Test {
 protected:
  SendWindowSize() {
    reductions_.announced = 1;
    reductions_.start(words_, words_, 0, 0);
    window_.enter(reductions_);
  }

  /// Cuts what may leave; the last one cut.
  SendWindow::Flight* fill() {
    SendWindow::Flight* last = nullptr;
    while (SendWindow::Flight* const flight = window_.cut()) last = flight;
    return last;
  }
  /// Sums come for packets in their order.
  void finish(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      SendWindow::Flight& flight = *window_.oldest();
      window_.complete(flight,
                       std::as_bytes(std::span(words_).subspan(flight.offset, flight.words)));
    }
  }
  /// Packets under way once everything has left that may.
  std::size_t window() {
    while (window_.under_way() > 1) finish(1);
    fill();
    return window_.under_way();
  }

  std::vector<std::uint64_t> words_ = std::vector<std::uint64_t>(packet_words * 10000);
  ReductionSequence reductions_;
  SendWindow window_{0, slots, packet_words};
};

TEST_F(SendWindowSize, IsAllSlotsUntilSomethingIsLost) {
  fill();
  EXPECT_EQ(window_.under_way(), slots);
  finish(10);
  fill();
  EXPECT_EQ(window_.under_way(), slots);
}

TEST_F(SendWindowSize, HalvesOnceForAllLossesOfOneWindow) {
  fill();
  for (SendWindow::Flight& flight : window_.flights()) window_.lost(flight);
  finish(20);
  EXPECT_EQ(window_.cut(), nullptr) << "44 are under way still, and a window of some 34";
  finish(12);
  fill();
  EXPECT_GE(window_.under_way(), slots / 2);
  EXPECT_LT(window_.under_way(), slots / 2 + 8);
}

TEST_F(SendWindowSize, NeverEndsAndGrowsAgain) {
  for (int i = 0; i < 20; ++i) {
    fill();
    ASSERT_GE(window_.under_way(), 4u);
    // All of this window, so that the next loss is a new one.
    window_.lost(*window_.oldest());
    finish(window_.under_way());
  }
  EXPECT_LT(window(), 16u);
  std::size_t rounds = 0;
  for (; window() < slots; ++rounds) ASSERT_LT(rounds, 40u);
  EXPECT_GT(rounds, 5u) << "slowly";
}

TEST(SendWindow, OfOneSlotGoesOnAfterALoss) {
  std::vector<std::uint64_t> words(8);
  ReductionSequence reductions;
  reductions.announced = 1;
  reductions.start(words, words, 0, 0);
  SendWindow window(0, 1, packet_words);
  window.enter(reductions);
  SendWindow::Flight* const first = window.cut();
  ASSERT_NE(first, nullptr);
  window.lost(*first);
  window.complete(*first, std::as_bytes(std::span(words).first(packet_words)));
  EXPECT_NE(window.cut(), nullptr);
}

}  // namespace
}  // namespace cohom::offload
