// Where pieces lie in units of several, and what the header of one that arrives may say.

#include "executor/piece_extents.hpp"

#include "schedule/algorithms/algorithm.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace cohom {
namespace {

/// A word an element at most; how many there are is known to who writes them.
class VaryingRound final : public Round {
 public:
  explicit VaryingRound(PayloadLength length)
      : Round({.name = "payload",
               .merge = {MergeKind::add},
               .time = RoundTime::payload,
               .length = length}) {}
  [[nodiscard]] std::size_t capacity(std::size_t, std::size_t elements) const override {
    return elements;
  }
  std::size_t encode(std::size_t, const Piece&, Payload) override { return 0; }
};

/// Rank 0 of 6 by recursive_halving. Its first slot is what rank 1 gets: chunks 3 to 5.
class PieceExtentsTest : public testing::Test {
 protected:
  explicit PieceExtentsTest(PayloadLength length = PayloadLength::varying)
      : round_(length),
        layout_(round_, find_algorithm("recursive_halving")->build({.rank = 0, .ranks = 6}),
                chunking_, ElementType::f32),
        extents_(round_, layout_, chunking_.pieces()) {}

  /// Takes a payload whose pieces say to have so many words, with so many in all.
  void take(std::array<std::uint32_t, 3> lengths, std::size_t words) {
    const std::array<std::uint64_t, 2> header{lengths[0] | std::uint64_t{lengths[1]} << 32,
                                              lengths[2]};
    extents_.take(0, 0, header, words);
  }
  void expect_error(std::array<std::uint32_t, 3> lengths, std::size_t words) {
    try {
      take(lengths, words);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::transport) << error.what();
    }
  }

  // 10 elements each of 6 chunks.
  const Chunking chunking_{60, 1, 6, 1000};
  VaryingRound round_;
  RoundLayout layout_;
  PieceExtents extents_;
};

class FixedPieceExtentsTest : public PieceExtentsTest {
 protected:
  FixedPieceExtentsTest() : PieceExtentsTest(PayloadLength::fixed) {}
};

TEST_F(PieceExtentsTest, UnitsOfSeveralPiecesHaveAHeader) {
  const MessageUnit& unit = layout_.unit(0, 0);
  EXPECT_EQ(layout_.schedule().slots[0].chunks, ChunkRange(3, 3));
  EXPECT_EQ(unit.pieces, 3u);
  EXPECT_TRUE(unit.divided);
  EXPECT_EQ(unit.header, 2u);
  EXPECT_EQ(layout_.capacity(0, 0), 2u + 30u);
}

TEST_F(PieceExtentsTest, TakesWhatTheHeaderSays) {
  take({10, 0, 3}, 2 + 13);
  EXPECT_EQ(extents_.begin(0, 0, 3), 2u);
  EXPECT_EQ(extents_.end(0, 0, 3), 12u);
  EXPECT_EQ(extents_.begin(0, 0, 4), 12u);
  EXPECT_EQ(extents_.end(0, 0, 4), 12u);
  EXPECT_EQ(extents_.begin(0, 0, 5), 12u);
  EXPECT_EQ(extents_.end(0, 0, 5), 15u);

  std::array<std::uint64_t, 2> header{~0ull, ~0ull};
  extents_.write_header(0, 0, header);
  EXPECT_EQ(header, (std::array<std::uint64_t, 2>{10, 3})) << "the last upper half is zero";
}

TEST_F(PieceExtentsTest, RefusesLengthsThatDoNotFit) {
  expect_error({11, 0, 0}, 2 + 11);          // a piece has no room for so many
  expect_error({0xffffffff, 0, 0}, 2 + 10);  // nor for these
  expect_error({1, 2, 3}, 2 + 5);            // fewer came
  expect_error({1, 2, 3}, 2 + 7);            // more came
}

TEST_F(FixedPieceExtentsTest, HaveNoHeader) {
  EXPECT_EQ(layout_.unit(0, 0).header, 0u);
  extents_.take(0, 0, {}, 30);
  EXPECT_EQ(extents_.begin(0, 0, 4), 10u);
  EXPECT_EQ(extents_.end(0, 0, 5), 30u);
}

// Sums are received where the next message needs them.
TEST_F(FixedPieceExtentsTest, LieInTheJoinThatTheyAreSentIn) {
  int joins = 0;
  for (const Step& step : layout_.schedule().steps) {
    if (step.kind != StepKind::join) continue;
    ++joins;
    std::size_t place = layout_.workspace_offset(step.result, 0);
    for (const std::uint32_t source : layout_.schedule().sources_of(step)) {
      EXPECT_EQ(layout_.workspace_offset(source, 0), place);
      place += layout_.capacity(source, 0);
    }
  }
  EXPECT_GT(joins, 0);
}

}  // namespace
}  // namespace cohom
