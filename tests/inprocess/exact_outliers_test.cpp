// Blocks that are outliers travel as they are: their sum is exact, a mean is divided before the
// only rounding, and what cancels leaves what it should.

#include "codec_specs.hpp"
#include "elements.hpp"
#include "exact_sums.hpp"
#include "loopback_ranks.hpp"

#include <cohom/allreduce.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

constexpr int ranks = 3;
using Vectors = std::vector<std::vector<double>>;  // by rank

/// Rank 0's result.
std::vector<double> reduce(const Vectors& vectors, ElementType type, const Options& options) {
  Bytes result;
  on_ranks(ranks, [&](int rank, Communicator& communicator) {
    const Bytes input = to_bytes(type, vectors[std::size_t(rank)]);
    Bytes output(input.size());
    Options named = options;
    named.buffer = "b";
    allreduce_start(input.data(), output.data(), vectors[0].size(), type, communicator, named)
        .wait();
    if (rank == 0) result = output;
  });
  return to_values(type, result);
}

class Means : public testing::TestWithParam<ElementType> {};

TEST_P(Means, AreDividedBeforeTheOnlyRoundingOfOutliers) {
  const ElementType type = GetParam();
  const double large = type == ElementType::f16   ? 30000
                       : type == ElementType::f64 ? 1e308
                                                  : 0x1.8p127;
  constexpr std::size_t count = 3000;
  Vectors vectors(ranks, std::vector<double>(count, large));
  for (std::size_t i = 0; i < count; i += 7)
    vectors[1][i] = std::numeric_limits<double>::quiet_NaN();  // in every block of any codec
  for (const CodecSpec& codec : specs_for(ranks)) {
    const std::string spec(codec.spec);
    // raw and sparse round at each merge, and so does topk, as sparse; this marsit is raw in every
    // call.
    if (spec.starts_with("topk") || spec == "raw" || spec == "sparse" ||
        spec.starts_with("sparse:"))
      continue;
    if (spec.starts_with("marsit:period=1")) continue;
    const auto found =
        reduce(vectors, type, {.codec = spec, .algorithm = "direct", .op = ReduceOp::mean});
    for (std::size_t i = 0; i < count; ++i)
      if (i % 7 == 0)
        ASSERT_TRUE(std::isnan(found[i])) << spec << ", element " << i;
      else
        ASSERT_EQ(found[i], large) << spec << ", element " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Means, testing::ValuesIn(all_element_types),
                         [](const auto& type) { return std::string(name_of(type.param)); });

/// No codec's sum of 3 x 30000 may be too large for f16 on the way to its mean.
TEST(Means, OfF16) {
  const Vectors vectors(ranks, std::vector<double>(3000, 30000.0));
  for (const char* spec :
       {"lowrank", "packed", "packed:abs_error=1", "thc", "thc:levels=full,lane=16", "sparse+thc",
        "sketch", "signcount", "marsit", "exact", "sparse+exact"})
    for (const double value : reduce(vectors, ElementType::f16,
                                     {.codec = spec, .algorithm = "direct", .op = ReduceOp::mean}))
      ASSERT_NEAR(value, 30000, 12000) << spec;
}

/// Of integers in cells, and of what is left over: the exact sum, divided, rounded once.
TEST(Means, OfSketchesAreRoundedOnce) {
  for (const ElementType type : {ElementType::f16, ElementType::bf16, ElementType::f32})
    for (const char* spec : {"sketch", "sketch:gamma=1.1,index=flat,seed=5", "sketch:size=0.3"}) {
      Vectors vectors;
      for (std::uint64_t rank = 0; rank < ranks; ++rank) {
        vectors.push_back(normal_values(20000, rank, type == ElementType::f16 ? 20000 : 1));
        for (double& value : vectors.back()) value = std::clamp(value, -60000.0, 60000.0);
      }
      const auto exact = to_values(type, exact_sums(type, vectors, ranks));
      const auto found =
          reduce(vectors, type, {.codec = spec, .algorithm = "ring", .op = ReduceOp::mean});
      for (std::size_t i = 0; i < exact.size(); ++i)
        ASSERT_EQ(found[i], exact[i]) << spec << ' ' << name_of(type) << ", element " << i;
    }
}

/// One value far larger than all others.
TEST(Sketches, AreExactBesideAnOutlier) {
  Vectors vectors;
  for (std::uint64_t rank = 0; rank < ranks; ++rank) vectors.push_back(normal_values(20000, rank));
  vectors[1][4711] = 1e13;
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean}) {
    const auto exact = to_values(
        ElementType::f32, exact_sums(ElementType::f32, vectors, op == ReduceOp::mean ? ranks : 1));
    for (const char* algorithm : {"ring", "tree"}) {
      const auto found =
          reduce(vectors, ElementType::f32, {.codec = "sketch", .algorithm = algorithm, .op = op});
      for (std::size_t i = 0; i < exact.size(); ++i)
        ASSERT_EQ(found[i], exact[i]) << algorithm << ", element " << i;
    }
  }
}

/// Its block alone is an outlier, so a sum takes few bytes more than without it.
TEST(Sketches, BeOneMiniBlockOfABlock) {
  const auto bytes_sent = [](const Vectors& vectors) {
    std::uint64_t bytes = 0;
    on_ranks(ranks, [&](int rank, Communicator& communicator) {
      const Bytes input = to_bytes(ElementType::f32, vectors[std::size_t(rank)]);
      Bytes output(input.size());
      allreduce_start(input.data(), output.data(), vectors[0].size(), ElementType::f32,
                      communicator, {.codec = "sketch", .algorithm = "ring"})
          .wait();
      if (rank == 1) bytes = communicator.wire_counters().bytes_sent;
    });
    return bytes;
  };
  Vectors vectors;
  for (std::uint64_t rank = 0; rank < ranks; ++rank) vectors.push_back(normal_values(20000, rank));
  const std::uint64_t without = bytes_sent(vectors);
  vectors[1][4711] = 1e13;
  EXPECT_LT(bytes_sent(vectors), without + 8000);
}

/// A bound of the error holds for what cancels, too: 3e20 is far more than a step of any width. Nor
/// do short vectors go raw instead.
TEST(PackedErrorBound, HoldsWhereSumsCancel) {
  for (const ElementType type : {ElementType::f64, ElementType::f32})
    for (const char* predict : {"none", "delta"}) {
      Vectors vectors(ranks, std::vector<double>(2000, 0.25));
      for (std::size_t i = 0; i < 2000; i += 7) {
        vectors[0][i] = 3e20;
        vectors[1][i] = 1;
        vectors[2][i] = -static_cast<double>(type == ElementType::f32 ? double(float(3e20)) : 3e20);
      }
      const auto found = reduce(
          vectors, type, {.codec = std::string("packed:abs_error=0.001,predict=") + predict});
      for (std::size_t i = 0; i < 2000; ++i)
        ASSERT_NEAR(found[i], i % 7 == 0 ? 1 : 0.75, 0.001) << predict << ", element " << i;
    }
}

}  // namespace
}  // namespace cohom::test
