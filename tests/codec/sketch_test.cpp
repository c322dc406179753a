// sketch: integer cells give exact sums rounded once, whatever peels; what cells cannot hold escapes; and
// nothing is estimated.

#include "codecs/sketch.hpp"

#include "codec_harness.hpp"
#include "kernels/sketch.hpp"
#include "sparse_vectors.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

using Vectors = std::vector<std::vector<double>>;

CodecHarness harness_of(int ranks, const Parameters& parameters = {},
                        ElementType type = ElementType::f32) {
  return CodecHarness({.make = make_sketch,
                       .ranks = ranks,
                       .type = type,
                       .parameters = parameters,
                       .segment = 1 << 18});
}

/// Of f32 values whose exponents differ by less than 30, in f64, which adds them without rounding.
std::vector<double> exact_sum(const Vectors& vectors) {
  std::vector<double> sum(vectors[0].size());
  for (const auto& vector : vectors)
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<double>(float(vector[i]));
  for (double& value : sum) value = static_cast<double>(float(value));
  return sum;
}

Vectors sparse_vectors(int ranks, std::size_t count, double density) {
  Vectors vectors;
  for (int rank = 0; rank < ranks; ++rank)
    vectors.push_back(sparse_values(count, density, std::uint64_t(rank) + 1));
  // Far smaller than all others, but within reach.
  for (auto& vector : vectors)
    for (std::size_t i = 0; i < count; i += 97) vector[i] *= 0x1p-12;
  return vectors;
}

TEST(Sketch, IsTheExactSumRoundedOnce) {
  for (const int ranks : {1, 2, 3, 8, 17})
    for (const double density : {0.0, 1e-4, 1e-3, 0.01, 0.05, 0.2, 0.6, 1.0})
      for (const std::size_t count : {1, 63, 1000, 30001, 100000}) {
        const Vectors vectors = sparse_vectors(ranks, count, density);
        CodecHarness harness = harness_of(ranks);
        EXPECT_EQ(harness.allreduce(vectors), exact_sum(vectors))
            << ranks << " ranks, density " << density << ", " << count;
        if (ranks == 17 && count > 30001) break;
      }
}

/// Too few cells to recover much: the rest is sent once more, and the sum is the same.
TEST(Sketch, OfTooFewCellsIsExactToo) {
  for (const char* gamma : {"0.5", "1", "1.2", "3"})
    for (const char* seed : {"0", "1", "2"}) {
      const Vectors vectors = sparse_vectors(4, 60000, 0.2);
      CodecHarness harness = harness_of(4, {{"gamma", gamma}, {"seed", seed}});
      EXPECT_EQ(harness.allreduce(vectors), exact_sum(vectors)) << gamma << " seed " << seed;
    }
}

TEST(Sketch, ShapesOfSupport) {
  constexpr std::size_t count = 1 << 16;
  Vectors column(3), disjoint(3);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    column[rank] = strided_values(count, 7, 1024, rank);
    disjoint[rank] = strided_values(count, rank, 3, rank);
  }
  const Vectors same(3, sparse_values(count, 0.05, 9));
  for (const Vectors& vectors : {column, disjoint, same}) {
    CodecHarness harness = harness_of(3);
    EXPECT_EQ(harness.allreduce(vectors), exact_sum(vectors));
  }
}

/// 2^39 / ranks between the largest and the smallest fit; smaller ones escape with their block, and are
/// added as floating-point numbers in rank order.
TEST(Sketch, SmallBesideLargeEscapes) {
  for (const double tiny : {0x1p-36, 0x1p-60, 1e-38, -1e-44}) {
    Vectors vectors(4, std::vector<double>(2000));
    vectors[0][3] = 1.5;
    vectors[1][700] = tiny;
    vectors[2][700] = 3 * tiny;
    vectors[3][1999] = -tiny;
    CodecHarness harness = harness_of(4);
    EXPECT_EQ(harness.allreduce(vectors), exact_sum(vectors)) << tiny;
    const int escapes = harness.codec(0).payload_round() - 1;
    const bool escaped = harness.sum(escapes)[0] != 0;
    EXPECT_EQ(escaped, std::abs(tiny) < 0x1p-60) << tiny << ", of few bits: these fit too";
  }
}

TEST(Sketch, FloatingCellsAreCloseAndNothingIsEstimated) {
  for (const char* gamma : {"1.3", "0.9"}) {
    const Vectors vectors = sparse_vectors(5, 300000, 0.03);
    CodecHarness harness = harness_of(5, {{"cells", "f32"}, {"gamma", gamma}});
    const auto sum = harness.allreduce(vectors);
    const auto exact = exact_sum(vectors);
    double error = 0, norm = 0;
    for (std::size_t i = 0; i < sum.size(); ++i) {
      error += (sum[i] - exact[i]) * (sum[i] - exact[i]);
      norm += exact[i] * exact[i];
    }
    EXPECT_LT(std::sqrt(error / norm), 1e-6) << gamma;
  }
}

/// A NaN spoils its block at most, and stands where it stood.
TEST(Sketch, NansStayInTheirPlace) {
  Vectors vectors = sparse_vectors(3, 5000, 0.1);
  vectors[1][1000] = std::numeric_limits<double>::quiet_NaN();
  for (const char* cells : {"i64", "f32"}) {
    CodecHarness harness = harness_of(3, {{"cells", cells}});
    const auto sum = harness.allreduce(vectors);
    for (std::size_t i = 0; i < sum.size(); ++i) EXPECT_EQ(std::isnan(sum[i]), i == 1000) << i;
  }
}

/// Payload words of integer cells: gamma a union element, three rows of whole cells an instance.
TEST(Sketch, TakesGammaCellsAnElement) {
  constexpr std::size_t count = 1 << 18;
  for (const double density : {0.01, 0.1}) {
    CodecHarness harness = harness_of(2);
    harness.allreduce(sparse_vectors(2, count, density));
    const double items = double(count) * (1 - (1 - density) * (1 - density));
    const int payload = harness.codec(0).payload_round();
    EXPECT_NEAR(double(harness.sum(payload).size()) / (1.3 * items), 1, 0.02) << density;
  }
}

/// One sketch of many items: between 1.22 and 1.225 cells an item it begins to peel (figures of the
/// method's analysis: 3 hashes, threshold 1.222).
TEST(SketchPeeling, HasItsThreshold) {
  constexpr std::size_t items = 1'000'000;
  std::vector<std::uint64_t> values(items), found(items);
  for (std::size_t i = 0; i < items; ++i) values[i] = 3 * i + 1;
  std::vector<std::uint8_t> known(items);
  for (const bool enough : {false, true}) {
    const double cells_an_item = enough ? 1.228 : 1.218;  // 1e6 items scatter by 0.002
    const kernels::SketchShape shape{.row = std::uint32_t(cells_an_item * items / 3), .key = 77};
    std::vector<std::uint64_t> cells(shape.cells());
    kernels::SketchScratch scratch;
    scratch.reserve(cells.size());
    kernels::sketch_insert<std::uint64_t>(shape, items, values.data(), cells.data());
    const std::size_t left =
        kernels::sketch_peel<std::uint64_t>(shape, cells.data(), scratch, known, found.data());
    if (enough)
      EXPECT_LT(left, items / 10000);
    else
      EXPECT_GT(left, items / 4);
    for (std::size_t i = 0; i < items; ++i)
      if (known[i] != 0) ASSERT_EQ(found[i], values[i]) << i;
  }
}

TEST(SketchOptions, ErrorsNameWhatIsWrong) {
  struct Wrong {
    Parameters parameters;
    ElementType type;
    std::string words;
  };
  const Wrong cases[] = {
      {{{"gamma", "0.1"}}, ElementType::f32, "gamma=0.1"},
      {{{"cells", "i32"}}, ElementType::f32, "cells=i32"},
      {{{"cells", "i64"}}, ElementType::f64, "f64 elements need cells=f64"},
      {{{"cells", "f64"}}, ElementType::f16, "take i64 or f32"},
      {{{"size", "0.1"}}, ElementType::f32, "size"},
  };
  for (const Wrong& wrong : cases) {
    try {
      harness_of(3, wrong.parameters, wrong.type);
      ADD_FAILURE() << "accepted: " << wrong.words;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      EXPECT_NE(std::string(error.what()).find(wrong.words), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace cohom::test
