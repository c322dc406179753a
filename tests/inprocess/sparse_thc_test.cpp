// sparse+thc: thc's promises for what is not zero, and exact zeros elsewhere.

#include "codecs/sparse_thc/sparse_thc.hpp"
#include "schedule/algorithms/algorithm.hpp"

#include "codec_harness.hpp"
#include "loopback_ranks.hpp"
#include "same_bytes.hpp"
#include "sparse_vectors.hpp"
#include "thoroughness.hpp"

#include <cohom/error.hpp>
#include <cohom/plan.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace cohom::test {
namespace {

constexpr std::size_t count = 100003;  // six units of 16384, and a ragged one
constexpr std::size_t unit = 16384;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

using Vectors = std::vector<std::vector<double>>;  // by rank

Vectors sparse_vectors(int ranks, double density) {
  Vectors vectors;
  for (int rank = 0; rank < ranks; ++rank)
    vectors.push_back(sparse_values(count, density, std::uint64_t(rank) + 10));
  for (auto& vector : vectors)
    std::fill(vector.begin() + 2 * unit, vector.begin() + 3 * unit, 0.0);  // a unit without values
  return vectors;
}

Bytes sum_of(const Vectors& vectors, ElementType type, std::string_view spec,
             std::string_view algorithm, std::size_t segment = 0, bool in_place = false) {
  std::vector<Bytes> outputs(vectors.size());
  on_ranks(int(vectors.size()), [&](int rank, Communicator& communicator) {
    const Bytes input = to_bytes(type, vectors[std::size_t(rank)]);
    Bytes& output = outputs[std::size_t(rank)];
    output = input;
    AllreducePlan plan(
        communicator, count, type,
        {.codec = std::string(spec), .algorithm = std::string(algorithm), .segment = segment});
    plan.execute(in_place ? output.data() : input.data(), output.data());
  });
  for (const Bytes& output : outputs)
    EXPECT_TRUE(same_bytes(output, outputs[0])) << spec << " " << algorithm << ": ranks differ";
  return outputs[0];
}

class SparseThc : public testing::TestWithParam<int> {};

TEST_P(SparseThc, BitsDoNotDependOnAlgorithmsAndSegments) {
  const int ranks = GetParam();
  CaseShare share(1, races_only ? 4 : 1);
  for (const bool special : {false, true})
    for (const char* spec : {"sparse+thc", "sparse+thc:index=flat,rotation=1024"}) {
      const ElementType type = special ? ElementType::bf16 : ElementType::f32;
      Vectors vectors = sparse_vectors(ranks, 0.05);
      if (special) {
        vectors[0][5] = nan;
        vectors.back()[50000] = -infinity;
        for (std::size_t i = 70000; i < 71000; ++i) vectors[0][i] = infinity;
      }
      const Bytes expected = sum_of(vectors, type, spec, "direct");
      for (const AlgorithmRow& algorithm : algorithm_table())
        for (const std::size_t segment : {1, 32768, 50000}) {
          if (share.skips_this()) continue;
          EXPECT_TRUE(same_bytes(
              sum_of(vectors, type, spec, algorithm.name, segment, segment != 32768), expected))
              << spec << " " << algorithm.name << " segment " << segment;
        }
    }
}

TEST_P(SparseThc, ErrsAsThcAndNeverAtZeros) {
  const int ranks = GetParam();
  for (const double density : {0.0, 0.0002, 0.01, 0.3, 1.0}) {
    const Vectors vectors = sparse_vectors(ranks, density);
    const auto sum =
        to_values(ElementType::f32, sum_of(vectors, ElementType::f32, "sparse+thc", "ring"));
    double error = 0, largest = 0;
    for (const auto& vector : vectors)
      largest =
          std::max(largest, std::inner_product(vector.begin(), vector.end(), vector.begin(), 0.0));
    for (std::size_t i = 0; i < count; ++i) {
      double exact = 0;
      bool any = false;
      for (const auto& vector : vectors) exact += vector[i], any |= vector[i] != 0;
      if (!any) ASSERT_EQ(sum[i], 0) << i;
      error += (sum[i] - exact) * (sum[i] - exact);
    }
    EXPECT_LE(error, ranks * largest * (0.009 + 0.017 * (ranks + 1) / (2 * ranks)) * 1.3)
        << "density " << density;
  }
}

/// In their units values may move; others do not notice.
TEST_P(SparseThc, WhatIsNotFiniteIsIeeesAndStaysInItsUnit) {
  const int ranks = GetParam();
  const Vectors plain = sparse_vectors(ranks, 0.05);
  Vectors spoilt = plain;
  const std::size_t specials[] = {17, 40000, count - 1};
  spoilt[0][specials[0]] = nan;
  spoilt.back()[specials[1]] = infinity;
  spoilt[0][specials[2]] = -infinity;
  const auto type = ElementType::f32;
  const Bytes expected = sum_of(plain, type, "sparse+thc", "ring");
  const Bytes found = sum_of(spoilt, type, "sparse+thc", "ring");
  const Bytes ieee = sum_of(spoilt, type, "raw", "direct");
  for (const std::size_t special : specials)
    EXPECT_TRUE(same_bytes(std::span(found).subspan(4 * special, 4),
                           std::span(ieee).subspan(4 * special, 4)))
        << special;
  for (std::size_t first = 0; first < count; first += unit) {
    const std::size_t end = std::min(first + unit, count);
    if (std::ranges::any_of(specials, [&](std::size_t s) { return s >= first && s < end; }))
      continue;
    EXPECT_TRUE(same_bytes(std::span(found).subspan(4 * first, 4 * (end - first)),
                           std::span(expected).subspan(4 * first, 4 * (end - first))))
        << "unit at " << first;
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, SparseThc, testing::Values(1, 2, 3, 5),
                         testing::PrintToStringParamName());

/// A byte a value of the union, its blocks' codes and the ends of units.
TEST(SparseThcWords, FollowTheUnion) {
  const Vectors vectors = sparse_vectors(4, 0.02);
  CodecHarness harness({.make = make_sparse_thc, .ranks = 4, .chunks = 1, .segment = 65536});
  harness.allreduce(vectors);
  std::size_t values = 0;
  for (std::size_t i = 0; i < count; ++i)
    values += std::ranges::any_of(vectors, [&](const auto& vector) { return vector[i] != 0; });
  EXPECT_GE(8 * harness.sum(3).size(), values);
  EXPECT_LE(8 * harness.sum(3).size(), values + 6 * 128);
  EXPECT_LE(8 * harness.contribution(3, 0).size(), values / 2 + 6 * 64);
}

TEST(SparseThcOptions, TakeThcsThatMakeSense) {
  const auto message_of = [](const Parameters& parameters) -> std::string {
    try {
      make_sparse_thc({.ranks = 4, .kernels = kernels::kernel_table(), .parameters = parameters});
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(message_of({{"bits", "5"}, {"index", "flat"}}), "accepted");
  for (const char* name : {"scale", "error_feedback", "bitz"})
    EXPECT_NE(message_of({{name, "on"}}).find(std::string("sparse+thc has no parameter '") + name),
              std::string::npos);
  EXPECT_NE(message_of({{"index", "x"}}).find("two-level, flat or bloom"), std::string::npos);
}

}  // namespace
}  // namespace cohom::test
