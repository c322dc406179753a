// sketch whose length is a share of the vector's, and indexes with ghosts: sums are exact all the
// same.

#include "codecs/sketch/sketch_layout.hpp"
#include "elements.hpp"
#include "sketch_sums.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

TEST(SketchSize, IsTheExactSumRoundedOnce) {
  for (const int ranks : {1, 2, 3, 17})
    for (const double density : {0.0, 1e-3, 0.03, 0.2, 1.0})
      for (const std::size_t count : {1, 63, 1000, 30001, 100000}) {
        if (ranks == 17 && count > 30001) break;
        const Vectors vectors = sparse_vectors(ranks, count, density);
        for (const char* index : {"two-level", "flat", "bloom"}) {
          CodecHarness harness = sketch_harness(ranks, {{"size", "0.1"}, {"index", index}},
                                                ElementType::f32, count % 2 == 0);
          EXPECT_EQ(harness.allreduce(vectors), exact_sum(vectors))
              << ranks << " ranks, density " << density << ", " << count << ", " << index;
        }
      }
}

/// The sketch is as long as the vector says, full or empty, and so needs no union to be made.
TEST(SketchSize, LengthIsAShareOfTheVector) {
  constexpr std::size_t count = 1 << 17;
  for (const double density : {0.0, 0.01, 1.0}) {
    CodecHarness harness = sketch_harness(2, {{"size", "0.1"}, {"cells", "f32"}});
    harness.allreduce(sparse_vectors(2, count, density));
    const auto payload = static_cast<int>(harness.codec(0).payload_round());
    EXPECT_NEAR(double(harness.sum(payload).size()), 0.1 * count / 2, 0.002 * count) << density;
    EXPECT_FALSE(harness.codec(0).payload().traits().varies());
    for (int round = 0; round < payload; ++round)
      EXPECT_EQ(harness.codec(0).rounds()[std::size_t(round)]->traits().needed_by,
                NeededBy::decoding);
  }
}

/// Told without looking at each instance, of which a vector that nobody has room for would have too
/// many.
TEST(SketchSize, LengthIsThatOfAllInstances) {
  for (const double size : {0.001, 0.1, 1.0 / 3, 4.0}) {
    SketchLayout layout(0, size);
    for (std::size_t count = 0; count < 400000; count = count * 9 / 8 + 1) {
      const std::vector<std::uint64_t> bits(kernels::bitmap_words(count));
      std::size_t cells = 0, elements = 0;
      layout.for_each_instance({.count = count}, {.bits = bits.data()},
                               [&](const SketchInstance& instance) {
                                 EXPECT_EQ(instance.first_element, elements);
                                 elements += instance.elements;
                                 cells += instance.cells();
                                 EXPECT_LE(instance.elements, layout.max_items_of_instance(count));
                                 EXPECT_LE(instance.cells(), layout.max_cells_of_instance(count));
                               });
      EXPECT_EQ(elements, count);
      EXPECT_EQ(layout.max_cells(count), cells) << size << " of " << count;
    }
    EXPECT_GE(layout.max_cells(std::size_t{1} << 61), std::size_t{1} << 51);
  }
}

/// 16 Mi elements, a tenth as many cells: nearly nothing is left over at 7.4% (1.35 cells a value),
/// and much at 8.6% (1.16, below the threshold of 1.22).
TEST(SketchSize, ATenthIsEnoughForSevenPercent) {
  constexpr std::size_t count = 16 << 20;
  for (const double density : {0.074, 0.086}) {
    std::mt19937_64 engine(3);
    Bytes input(4 * count);
    double values = 0;
    for (std::size_t i = 0; i < count; ++i)
      if (static_cast<double>(engine() >> 11) * 0x1p-53 < density) {
        const auto value = static_cast<float>(i % 1000 + 1);
        std::memcpy(input.data() + 4 * i, &value, 4);
        ++values;
      }
    CodecHarness harness = sketch_harness(1, {{"size", "0.1"}});
    EXPECT_TRUE(harness.allreduce(std::vector<Bytes>{input}) == input);
    const double share = double(unpeeled_of(harness).size()) / values;
    if (density < 0.08)
      EXPECT_LT(share, 1e-5);
    else
      EXPECT_GT(share, 0.2);
  }
}

/// Ghosts are elements like others, with zeros.
TEST(SketchBloom, SumsAreExact) {
  for (const char* rate : {"1/2", "1/64", "1/1048576"})
    for (const double density : {0.0, 1e-4, 1e-3, 0.01, 0.3, 1.0}) {
      const Vectors vectors = sparse_vectors(4, 60000, density);
      const Parameters bloom{{"index", "bloom"}, {"false_positives", rate}};
      CodecHarness harness = sketch_harness(4, bloom);
      EXPECT_EQ(harness.allreduce(vectors), exact_sum(vectors)) << rate << " at " << density;
    }
}

/// Few values that lie anywhere: 14.4 bits each name them, where blocks of 512 take 512 bits.
TEST(SketchBloom, TakesFewerBitsThanBlocks) {
  const Vectors vectors = sparse_vectors(2, 1 << 18, 1e-3);
  const auto index_words = [&](const char* form) {
    CodecHarness harness = sketch_harness(2, {{"index", form}});
    harness.allreduce(vectors);
    return double(harness.sum(0).size() + harness.sum(1).size());
  };
  const double values = 2e-3 * (1 << 18);
  EXPECT_NEAR(index_words("bloom"), values * 14.43 / 64, 0.1 * values * 14.43 / 64);
  EXPECT_LT(4 * index_words("bloom"), index_words("two-level"));
}

/// Where a filter would be longer than a bit an element, there is none, and no ghosts.
TEST(SketchBloom, BecomesABitmap) {
  const Vectors vectors = sparse_vectors(3, 60000, 0.1);
  CodecHarness bloom = sketch_harness(3, {{"index", "bloom"}});
  CodecHarness flat = sketch_harness(3, {{"index", "flat"}});
  bloom.allreduce(vectors);
  flat.allreduce(vectors);
  EXPECT_EQ(bloom.sum(1), flat.sum(0));
}

}  // namespace
}  // namespace cohom::test
