// Chunking: every element in exactly one piece, chunks of whole blocks, pieces segment by segment.

#include "executor/chunking.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

struct Cut {
  std::size_t elements, block, chunks, segment;

  [[nodiscard]] Chunking chunking() const { return {elements, block, chunks, segment}; }
  [[nodiscard]] std::string name() const {
    return std::to_string(elements) + " elements, blocks of " + std::to_string(block) + ", " +
           std::to_string(chunks) + " chunks, segments of " + std::to_string(segment);
  }
};

std::vector<Cut> cuts() {
  std::vector<Cut> all;
  for (std::size_t elements : {0, 1, 15, 16, 17, 255, 256, 257, 4096, 5003, 100003})
    for (std::size_t block : {16, 256, 1024})
      for (std::size_t chunks : {1, 2, 3, 7, 16, 33})
        for (std::size_t segment : {0, 1, 256, 1000, 65536})
          all.push_back({elements, block, chunks, segment});
  return all;
}

/// The pieces of a chunk lie side by side, and so do the chunks: together they are the vector.
void expect_all_elements_once(const Chunking& chunking, std::size_t elements) {
  std::size_t next = 0;
  for (std::size_t chunk = 0; chunk < chunking.chunks(); ++chunk)
    for (std::size_t index : chunking.pieces_of_chunk(chunk)) {
      const Piece& piece = chunking.pieces()[index];
      EXPECT_EQ(piece.first, next);
      EXPECT_EQ(piece.index, index);
      EXPECT_GT(piece.count, 0u);
      next = piece.first + piece.count;
    }
  EXPECT_EQ(next, elements);
}

TEST(Chunking, HasEveryElementOnce) {
  for (const Cut& cut : cuts()) {
    SCOPED_TRACE(cut.name());
    expect_all_elements_once(cut.chunking(), cut.elements);
  }
}

TEST(Chunking, CutsBetweenBlocksAndNoPieceIsLongerThanASegment) {
  for (const Cut& cut : cuts()) {
    const std::size_t whole_segment =
        std::max<std::size_t>(1, (cut.segment + cut.block - 1) / cut.block) * cut.block;
    const Chunking chunking = cut.chunking();
    for (const Piece& piece : chunking.pieces()) {
      EXPECT_EQ(piece.first % cut.block, 0u) << cut.name();
      EXPECT_LE(piece.count, whole_segment) << cut.name();
      const bool last = piece.first + piece.count == cut.elements;
      EXPECT_TRUE(last || piece.count % cut.block == 0) << cut.name();
    }
  }
}

/// The longest chunk decides how long everybody works.
TEST(Chunking, ChunksDifferByOneBlockAtMost) {
  for (const Cut& cut : cuts()) {
    const Chunking chunking = cut.chunking();
    std::size_t least = std::numeric_limits<std::size_t>::max();
    std::size_t most = 0;
    for (std::size_t chunk = 0; chunk < cut.chunks; ++chunk) {
      std::size_t blocks = 0;
      for (std::size_t index : chunking.pieces_of_chunk(chunk))
        blocks += (chunking.pieces()[index].count + cut.block - 1) / cut.block;
      EXPECT_LE(blocks, least) << cut.name() << ": longer chunks come first";
      least = std::min(least, blocks);
      most = std::max(most, blocks);
    }
    EXPECT_LE(most, least + 1) << cut.name();
  }
}

/// Segment s holds piece s of every chunk that has one, in the order of chunks.
TEST(Chunking, ListsPiecesSegmentBySegment) {
  for (const Cut& cut : cuts()) {
    const Chunking chunking = cut.chunking();
    std::size_t next = 0;
    for (std::size_t segment = 0; segment < chunking.piece_numbers(); ++segment) {
      EXPECT_EQ(chunking.first_of_piece_number(segment), next) << cut.name();
      for (std::size_t chunk = 0; chunk < cut.chunks; ++chunk) {
        const auto pieces = chunking.pieces_of_chunk(chunk);
        if (segment >= pieces.size()) continue;
        EXPECT_EQ(pieces[segment], next++) << cut.name();
      }
    }
    EXPECT_EQ(chunking.first_of_piece_number(chunking.piece_numbers()), next) << cut.name();
    EXPECT_EQ(chunking.pieces().size(), next) << cut.name();
  }
}

TEST(Chunking, RoundsSegmentsUpToBlocks) {
  EXPECT_EQ(Chunking(10000, 256, 1, 1000).pieces()[0].count, 1024u);
  EXPECT_EQ(Chunking(10000, 256, 1, 1024).pieces()[0].count, 1024u);
  EXPECT_EQ(Chunking(10000, 256, 1, 1025).pieces()[0].count, 1280u);
  EXPECT_EQ(Chunking(10000, 256, 1, 0).pieces()[0].count, 256u);
  EXPECT_EQ(Chunking(10000, 256, 1, std::numeric_limits<std::size_t>::max()).pieces().size(), 1u);
}

TEST(Chunking, LeavesChunksEmptyWhenThereAreFewBlocks) {
  const Chunking chunking(257, 256, 4, 256);
  EXPECT_EQ(chunking.pieces_of_chunk(0).size(), 1u);
  EXPECT_EQ(chunking.pieces_of_chunk(1).size(), 1u);
  EXPECT_TRUE(chunking.pieces_of_chunk(2).empty());
  EXPECT_TRUE(chunking.pieces_of_chunk(3).empty());
  EXPECT_EQ(chunking.pieces()[1].count, 1u);
}

}  // namespace
}  // namespace cohom::test
