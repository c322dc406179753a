#include "codecs/common/lane_layout.hpp"

#include "kernels/core/body/lanes.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace cohom {
namespace {

using kernels::body::lane_at;
using kernels::body::lane_mask;
using kernels::body::pack_lanes;
using kernels::body::unpack_lanes;
using kernels::body::words_per_block;

TEST(LaneLayout, UsesTheWidestWidthForEachNumberOfLanes) {
  std::vector<unsigned> widest;
  for (unsigned width = 1; width <= 64; ++width)
    if (width == 64 || 64 / width != 64 / (width + 1)) widest.push_back(width);
  EXPECT_EQ(widest, std::vector<unsigned>(lane_widths().begin(), lane_widths().end()));
}

TEST(LaneLayout, FindsTheSmallestWidthThatHoldsAValue) {
  for (unsigned width : lane_widths()) {
    EXPECT_TRUE(is_lane_width(width));
    EXPECT_EQ(smallest_lane_width(largest_lane_value(width)), width);
    if (width < 64) {
      EXPECT_GT(smallest_lane_width(largest_lane_value(width) + 1), width);
    }
  }
  EXPECT_EQ(smallest_lane_width(0), 1u);
  EXPECT_EQ(smallest_lane_width(240), 8u);
  EXPECT_EQ(smallest_lane_width(2048), 12u);
  EXPECT_FALSE(is_lane_width(11));
  EXPECT_FALSE(is_lane_width(0));
}

TEST(LaneLayout, CountsWordsOfWholeAndRaggedBlocks) {
  EXPECT_EQ(words_of_run(256, 256, 4), 16u);
  EXPECT_EQ(words_of_run(256, 256, 12), 52u);      // 5 lanes a word
  EXPECT_EQ(words_of_run(257, 256, 8), 32u + 2u);  // the tail of 1 is padded to 16
  EXPECT_EQ(words_of_run(273, 256, 8), 32u + 4u);  // the tail of 17 to 32
  EXPECT_EQ(words_of_run(511, 256, 8), 64u);       // the tail of 255 to a whole block
  EXPECT_EQ(words_of_run(0, 256, 8), 0u);
  EXPECT_EQ(words_of_run(3, 16, 21), 6u);  // 3 lanes a word
}

TEST(Lanes, FollowTheDocumentedExample) {
  std::vector<std::uint64_t> values(16);
  for (std::size_t e = 0; e < 16; ++e) values[e] = e;
  std::uint64_t words[2];
  pack_lanes(values.data(), 16, 8, words);
  EXPECT_EQ(words[0], 0x0e0c0a0806040200u);
  EXPECT_EQ(words[1], 0x0f0d0b0907050301u);
}

class LanesOfWidth : public testing::TestWithParam<unsigned> {};

TEST_P(LanesOfWidth, ComeBackAndLeaveTheRestZero) {
  const unsigned width = GetParam();
  std::mt19937_64 engine(width);
  for (std::size_t count : {16, 32, 64, 256, 1024}) {
    std::vector<std::uint64_t> values(count);
    for (auto& value : values) value = engine() & lane_mask(width);
    const std::size_t words = words_per_block(count, width);
    std::vector<std::uint64_t> packed(words, ~std::uint64_t{0});
    pack_lanes(values.data(), count, width, packed.data());
    std::vector<std::uint64_t> unpacked(count);
    unpack_lanes(packed.data(), count, width, unpacked.data());
    EXPECT_EQ(unpacked, values);
    for (std::size_t e = 0; e < count; ++e) {
      EXPECT_EQ(lane_at(packed.data(), words, width, e), values[e]);
      packed[e % words] &= ~(lane_mask(width) << (e / words * width));
    }
    for (std::uint64_t word : packed) EXPECT_EQ(word, 0u);
  }
}

TEST_P(LanesOfWidth, AddWithoutCarries) {
  const unsigned width = GetParam();
  if (width < 2) return;
  std::mt19937_64 engine(width);
  std::vector<std::uint64_t> a(64), b(64), total(64), added(64);
  for (std::size_t e = 0; e < a.size(); ++e) {
    const std::uint64_t sum = e % 3 == 0 ? lane_mask(width) : engine() & lane_mask(width);
    a[e] = engine() % (sum == ~std::uint64_t{0} ? sum : sum + 1);
    b[e] = sum - a[e];
    total[e] = sum;
  }
  std::vector<std::uint64_t> x(words_per_block(64, width)), y(x.size());
  pack_lanes(a.data(), 64, width, x.data());
  pack_lanes(b.data(), 64, width, y.data());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  unpack_lanes(x.data(), 64, width, added.data());
  EXPECT_EQ(added, total);
}

INSTANTIATE_TEST_SUITE_P(All, LanesOfWidth,
                         testing::ValuesIn(lane_widths().begin(), lane_widths().end()));

}  // namespace
}  // namespace cohom
