// sparse's words: what its index says, how long payloads are, and what it refuses.

#include "codecs/sparse/sparse.hpp"
#include "agreed_words.hpp"

#include "codec_harness.hpp"
#include "sparse_vectors.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

using WordVector = std::vector<std::uint64_t>;
using Vectors = std::vector<std::vector<double>>;

CodecHarness harness_of(int ranks, const Parameters& parameters = {},
                        ElementType type = ElementType::f32) {
  return CodecHarness({.make = make_sparse,
                       .ranks = ranks,
                       .type = type,
                       .parameters = parameters,
                       .chunks = 1,
                       .segment = 4096});
}

/// Blocks: empty, one value on one rank, full on one rank, ragged with two values.
Vectors four_blocks() {
  Vectors vectors(2, std::vector<double>(3 * 512 + 100));
  vectors[1][512 + 65] = 3;
  for (std::size_t i = 0; i < 500; ++i) vectors[0][1024 + i] = 1;
  vectors[0][1536] = 5;
  vectors[1][1536 + 99] = 7;
  return vectors;
}

TEST(Sparse, UpperLevelSaysEmptyValuesOrFull) {
  CodecHarness harness = harness_of(2);
  harness.allreduce(four_blocks());
  EXPECT_EQ(harness.contribution(0, 0), WordVector{0b01'10'00'00});
  EXPECT_EQ(harness.contribution(0, 1), WordVector{0b01'00'01'00});
  EXPECT_EQ(harness.sum(0), WordVector{0b01'10'01'00});
}

TEST(Sparse, LowerLevelHasTheBlocksWithValues) {
  CodecHarness harness = harness_of(2);
  harness.allreduce(four_blocks());
  WordVector expected(8 + 2);
  expected[1] = 1 << 1;
  expected[8] = 1;
  expected[9] = std::uint64_t{1} << 35;
  EXPECT_EQ(harness.sum(1), expected);
  // One value, 512 of the full block, two.
  EXPECT_EQ(harness.sum(2).size(), (1 + 512 + 2 + 1) / 2u);
  EXPECT_EQ(harness.sum(2)[0], 0x3f800000'40400000u) << "3, then the first 1";
}

TEST(Sparse, FlatIndexIsABitAnElement) {
  CodecHarness harness = harness_of(2, {{"index", "flat"}});
  harness.allreduce(four_blocks());
  ASSERT_EQ(harness.sum(0).size(), 26u);
  EXPECT_EQ(harness.sum(0)[9], 2u);
  EXPECT_EQ(harness.sum(0)[16], ~std::uint64_t{0});
  EXPECT_EQ(harness.sum(1).size(), (1 + 500 + 2 + 1) / 2u);
}

TEST(Sparse, ZerosTakeNoPayload) {
  CodecHarness harness = harness_of(3);
  const Vectors zeros(3, std::vector<double>(5000));
  EXPECT_EQ(harness.allreduce(zeros), zeros[0]);
  EXPECT_EQ(harness.sum(0).size(), 2u) << "10 blocks, in pieces of 8 and 2";
  EXPECT_TRUE(harness.sum(1).empty());
  EXPECT_TRUE(harness.sum(2).empty());
}

/// A dense vector pays two bits a block for the question, and no index.
TEST(Sparse, DenseVectorsGoRaw) {
  for (const ElementType type : all_element_types) {
    CodecHarness harness = harness_of(2, {}, type);
    const Vectors dense{normal_values(4096, 1), normal_values(4096, 2)};
    harness.allreduce(dense);
    EXPECT_EQ(harness.sum(0).size(), 1u);
    EXPECT_TRUE(harness.sum(1).empty());
    EXPECT_EQ(harness.sum(2).size(), 4096 * size_of(type) / 8);
  }
}

/// No rank is dense, and the union is: the payload is raw's, the index has been sent.
TEST(Sparse, DenseUnionsGoRaw) {
  CodecHarness harness = harness_of(2);
  const Vectors halves{strided_values(4096, 0, 2, 1), strided_values(4096, 1, 2, 2)};
  harness.allreduce(halves);
  EXPECT_EQ(harness.sum(1), WordVector(64, ~std::uint64_t{0}));
  EXPECT_EQ(harness.sum(2).size(), 2048u);
}

/// The bound of the wire formula, without its transport: bits and values, and little else.
TEST(Sparse, WordsAreIndexAndUnion) {
  constexpr std::size_t count = 1 << 16;
  for (const double density : {0.0, 1e-4, 1e-3, 0.01, 0.05, 0.2, 0.6, 1.0}) {
    Vectors vectors;
    for (std::uint64_t rank = 0; rank < 4; ++rank)
      vectors.push_back(sparse_values(count, density, rank));
    std::size_t positions = 0;
    for (std::size_t i = 0; i < count; ++i)
      positions +=
          vectors[0][i] != 0 || vectors[1][i] != 0 || vectors[2][i] != 0 || vectors[3][i] != 0;
    const double expected = count / 64.0 + double(positions) / 2;
    CodecHarness flat = harness_of(4, {{"index", "flat"}});
    flat.allreduce(vectors);
    EXPECT_NEAR(double(flat.sum(0).size() + flat.sum(1).size()), expected, 0.02 * expected);
    CodecHarness two_level = harness_of(4);
    two_level.allreduce(vectors);
    EXPECT_LE(double(two_level.sum(0).size() + two_level.sum(1).size() + two_level.sum(2).size()),
              1.02 * expected)
        << density;
  }
}

TEST(Sparse, RefusesWrongParameters) {
  const kernels::KernelTable& kernels = kernels::kernel_table();
  const auto message_of = [&](const Parameters& parameters) -> std::string {
    try {
      make_sparse({.kernels = kernels, .parameters = parameters});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(message_of({{"index", "flat"}}), "accepted");
  EXPECT_NE(message_of({{"index", "tree"}}).find("two-level, flat or bloom"), std::string::npos);
  EXPECT_NE(message_of({{"indx", "flat"}}).find("did you mean index"), std::string::npos);
}

TEST(Sparse, RefusesAnIndexThatDoesNotFit) {
  const Piece piece{.first = 0, .count = 600, .index = 0};
  const std::vector<float> input(600);
  const auto payload_of = [&](const Parameters& parameters, std::vector<WordVector> rounds) {
    const auto codec = make_sparse({.kernels = kernels::kernel_table(), .parameters = parameters});
    codec->reserve(600, 600);
    codec->begin({.input = input.data(), .pieces = {&piece, 1}});
    KeptRounds made_up;  // as by a broken transport
    made_up.start(codec->rounds());
    for (std::size_t r = 0; r < rounds.size(); ++r) made_up.add(r, std::move(rounds[r]));
    WordVector out(300);
    return codec->rounds()[codec->payload_round()]->encode(1, piece, out);
  };
  WordVector last_bits(10), behind(10);
  last_bits[9] = (1 << 24) - 1;
  behind[9] = 1 << 24;
  const Parameters flat{{"index", "flat"}};
  EXPECT_EQ(payload_of(flat, {last_bits}), 12u);
  EXPECT_THROW(payload_of(flat, {behind}), Error);
  EXPECT_EQ(payload_of({}, {{0b0100}, {0, 1}}), 1u);
  EXPECT_THROW(payload_of({}, {{0b0100}, {0}}), Error);
  EXPECT_THROW(payload_of({}, {{0b0100}, {0, 1, 0}}), Error);
  EXPECT_THROW(payload_of({}, {{0b0100}, {0, 1 << 24}}), Error);
}

}  // namespace
}  // namespace cohom::test
