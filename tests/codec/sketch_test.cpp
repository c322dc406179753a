// sketch: integer cells give exact sums rounded once, whatever peels; what cells cannot hold
// escapes; and nothing is estimated.

#include "kernels/sketch/sketch.hpp"
#include "codecs/sketch/sketch_layout.hpp"
#include "kernels/table/kernel_table.hpp"
#include "sketch_sums.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

TEST(Sketch, IsTheExactSumRoundedOnce) {
  for (const int ranks : {1, 2, 3, 8, 17, 33})
    for (const double density : {0.0, 1e-4, 1e-3, 0.01, 0.05, 0.2, 0.6, 1.0})
      for (const std::size_t count : {1, 63, 1000, 30001, 100000}) {
        const Vectors vectors = sparse_vectors(ranks, count, density);
        CodecHarness harness = sketch_harness(ranks);
        EXPECT_EQ(harness.allreduce(vectors), exact_sum(vectors))
            << ranks << " ranks, density " << density << ", " << count;
        if (ranks >= 17 && count >= 30001) break;
      }
}

/// Sums that f32 would round to a tie of the narrower type, which the bit that it drops decides.
TEST(Sketch, RoundsHalfPrecisionOnce) {
  struct Narrow {
    ElementType type;
    double large, sum;
  };
  for (const Narrow& narrow :
       {Narrow{ElementType::f16, 2048, 2050}, Narrow{ElementType::bf16, 256, 258}})
    for (const double sign : {1.0, -1.0}) {
      Vectors vectors(3, std::vector<double>(300));
      vectors[0][7] = sign * narrow.large;
      vectors[1][7] = sign;
      vectors[2][7] = sign * 0x1p-24;
      EXPECT_EQ(sketch_harness(3, {}, narrow.type).allreduce(vectors)[7], sign * narrow.sum);
    }
}

/// Too few cells to recover much: the rest is sent once more, and the sum is the same.
TEST(Sketch, OfTooFewCellsIsExactToo) {
  for (const char* gamma : {"0.5", "1", "1.2", "3"})
    for (const char* seed : {"0", "1", "2"}) {
      const Vectors vectors = sparse_vectors(4, 60000, 0.2);
      CodecHarness harness = sketch_harness(4, {{"gamma", gamma}, {"seed", seed}});
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
    CodecHarness harness = sketch_harness(3);
    EXPECT_EQ(harness.allreduce(vectors), exact_sum(vectors));
  }
}

/// 2^39 / ranks between the largest and the smallest fit; smaller ones make their block an outlier,
/// and are added as floating-point numbers in rank order.
TEST(Sketch, SmallBesideLargeIsAnOutlier) {
  for (const double tiny : {0x1p-36, 0x1p-60, 1e-38, -1e-44}) {
    Vectors vectors(4, std::vector<double>(2000));
    vectors[0][3] = 1.5;
    vectors[1][700] = tiny;
    vectors[2][700] = 3 * tiny;
    vectors[3][1999] = -tiny;
    CodecHarness harness = sketch_harness(4);
    EXPECT_EQ(harness.allreduce(vectors), exact_sum(vectors)) << tiny;
    const int outlier_bits = harness.codec(0).payload_round() - 1;
    const bool outliers = harness.sum(outlier_bits)[0] != 0;
    EXPECT_EQ(outliers, std::abs(tiny) < 0x1p-60) << tiny << ", of few bits: these fit too";
  }
}

/// The largest value sets the exponent for all, on whatever rank and in whatever piece it lies.
TEST(Sketch, NothingIsAnOutlierThatFitsBesideTheLargest) {
  for (std::size_t rank = 0; rank < 3; ++rank)
    for (const std::size_t position : {0, 999, 1500, 2999}) {
      Vectors vectors(3, std::vector<double>(3000, 1.25));
      vectors[rank][position] = 0x1.8p30;
      CodecHarness harness = sketch_harness(3);
      EXPECT_EQ(harness.allreduce(vectors), exact_sum(vectors));
      const int outlier_bits = harness.codec(0).payload_round() - 1;
      for (const std::uint64_t word : harness.sum(outlier_bits)) EXPECT_EQ(word, 0u) << position;
    }
}

TEST(Sketch, FloatingCellsAreCloseAndNothingIsEstimated) {
  const Parameters cases[] = {{{"gamma", "1.3"}}, {{"gamma", "0.9"}}, {{"size", "0.1"}}};
  for (Parameters parameters : cases)
    for (const double density : {1e-3, 0.01, 0.015, 0.03, 0.2, 1.0}) {
      parameters["cells"] = "f32";
      const Vectors vectors = sparse_vectors(5, 200000, density);
      CodecHarness harness = sketch_harness(5, parameters);
      const auto sum = harness.allreduce(vectors);
      const auto exact = exact_sum(vectors);
      double error = 0, norm = 0;
      for (std::size_t i = 0; i < sum.size(); ++i) {
        error += (sum[i] - exact[i]) * (sum[i] - exact[i]);
        norm += exact[i] * exact[i];
      }
      EXPECT_LT(std::sqrt(error / norm), 1e-6)
          << parameters.begin()->first << ", density " << density;
    }
}

/// A NaN spoils its block at most, and stands where it stood.
TEST(Sketch, NansStayInTheirPlace) {
  Vectors vectors = sparse_vectors(3, 5000, 0.1);
  vectors[1][1000] = std::numeric_limits<double>::quiet_NaN();
  for (const char* cells : {"i64", "f32"}) {
    CodecHarness harness = sketch_harness(3, {{"cells", cells}});
    const auto sum = harness.allreduce(vectors);
    for (std::size_t i = 0; i < sum.size(); ++i) EXPECT_EQ(std::isnan(sum[i]), i == 1000) << i;
  }
}

/// Zero has no sign in a cell. A vector of nothing but -0.0 has an index that is full.
TEST(Sketch, NegativeZerosAreZeros) {
  Vectors vectors(3, std::vector<double>(3000, -0.0));
  vectors[2][700] = 2.5;
  for (const char* cells : {"i64", "f32"}) {
    CodecHarness harness = sketch_harness(3, {{"cells", cells}});
    const auto sum = harness.allreduce(vectors);
    for (std::size_t i = 0; i < sum.size(); ++i) {
      EXPECT_EQ(sum[i], i == 700 ? 2.5 : 0) << i;
      EXPECT_FALSE(std::signbit(sum[i])) << i;
    }
  }
}

/// Two elements that share all their cells never peel, in no order: with seeds chosen so, they are
/// sent once more. One of them has, on some rank, a block that is an outlier: then the other is
/// left over alone.
TEST(Sketch, SeedsThatCollide) {
  constexpr std::size_t count = 512;
  const Vectors dense(2, normal_values(count, 4));
  int colliding = 0;
  for (std::uint64_t seed = 0; colliding < 3; ++seed) {
    ASSERT_LT(seed, 5000u);
    const SketchLayout layout = [&] {
      SketchLayout made(1.3, 0);
      made.set_key(kernels::body::key(seed, 0, kernels::body::Stream::sketch, 0));
      return made;
    }();
    std::size_t first = count, second = count;
    const std::vector<std::uint64_t> all(count / 64, ~std::uint64_t{0});
    layout.for_each_instance({.count = count}, {all.data(), count}, [&](const auto& instance) {
      std::map<std::array<std::uint32_t, 3>, std::size_t> seen;
      for (std::size_t i = 0; i < count; ++i) {
        const kernels::SketchPlace place(instance.shape, std::uint32_t(i));
        const auto [at, fresh] = seen.try_emplace({place.cell(0), place.cell(1), place.cell(2)}, i);
        if (!fresh) first = at->second, second = i;
      }
    });
    if (second == count || first / 256 == second / 256) continue;
    ++colliding;
    for (const bool outliers : {false, true}) {
      Vectors vectors = dense;
      if (outliers) vectors[1][first ^ 1] = std::numeric_limits<double>::infinity();
      CodecHarness harness({.make = make_sketch,
                            .ranks = 2,
                            .parameters = {{"seed", std::to_string(seed)}},
                            .chunks = 1,
                            .segment = count});
      EXPECT_EQ(harness.allreduce(vectors), exact_sum(vectors)) << "seed " << seed;
      EXPECT_EQ(unpeeled_of(harness).size(), outliers ? 1u : 2u) << "seed " << seed;
    }
  }
}

/// Payload words of integer cells: gamma a union element, three rows of whole cells an instance.
TEST(Sketch, TakesGammaCellsAnElement) {
  constexpr std::size_t count = 1 << 18;
  for (const double density : {0.01, 0.1}) {
    CodecHarness harness = sketch_harness(2);
    harness.allreduce(sparse_vectors(2, count, density));
    const double items = double(count) * (1 - (1 - density) * (1 - density));
    const int payload = harness.codec(0).payload_round();
    EXPECT_NEAR(double(harness.sum(payload).size()) / (1.3 * items), 1, 0.02) << density;
  }
}

/// One sketch of many items: at 1.22 cells an item 40% are left, at 1.225 nearly none (figures of
/// the method's analysis: 3 hashes, threshold 1.222).
TEST(SketchPeeling, HasItsThreshold) {
  constexpr std::size_t items = 1'700'000;
  std::vector<std::uint64_t> values(items), found(items);
  for (std::size_t i = 0; i < items; ++i) values[i] = 3 * i + 1;
  std::vector<std::uint8_t> known(items);
  std::vector<kernels::SketchPlace> places(items);
  for (const bool enough : {false, true}) {
    const double cells_an_item = enough ? 1.225 : 1.22;
    const kernels::SketchShape shape{.row = std::uint32_t(cells_an_item * items / 3), .key = 77};
    std::vector<std::uint64_t> cells(shape.cells());
    kernels::SketchScratch scratch(kernels::kernel_table().placing);
    scratch.reserve(cells.size());
    kernels::kernel_table().placing.places(shape, nullptr, items, places.data());
    kernels::sketch_insert<std::uint64_t>(places, values.data(), cells.data());
    const std::size_t left =
        kernels::sketch_peel<std::uint64_t>(places, cells, scratch, known.data(), found.data());
    if (enough)
      EXPECT_LT(left, items / 10000);
    else
      EXPECT_NEAR(double(left) / items, 0.41, 0.05);
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
      {{{"size", "5"}}, ElementType::f32, "size=5"},
      {{{"size", "0.1"}, {"gamma", "1.3"}}, ElementType::f32, "gamma=1.3"},
      {{{"index", "blom"}}, ElementType::f32, "index=blom"},
      {{{"false_positives", "0.01"}}, ElementType::f32, "only index=bloom has any"},
      {{{"false_positives", "0.9"}, {"index", "bloom"}}, ElementType::f32, "false_positives=0.9"},
  };
  for (const Wrong& wrong : cases) {
    try {
      sketch_harness(3, wrong.parameters, wrong.type);
      ADD_FAILURE() << "accepted: " << wrong.words;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      EXPECT_NE(std::string(error.what()).find(wrong.words), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace cohom::test
