// nmse=: sums err no more than was asked for, on the benchmark's inputs and the captured gradients,
// and no bits are wasted on it.

#include "input_case.hpp"
#include "npy.hpp"
#include "packed_vectors.hpp"

#include "codecs/thc/thc.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

namespace cohom::test {
namespace {

/// Of a rank: a benchmark's input, or a file of gradients whose rows more ranks share.
Vectors vectors_of(const std::string& input, int ranks) {
  constexpr std::size_t most = 50'000;  // with a ragged end
  Vectors vectors;
  for (int rank = 0; rank < ranks; ++rank) {
    if (!input.ends_with(".npy")) {
      vectors.push_back(bench::input_case::make(input, most, rank));
      continue;
    }
    const auto array = bench::read_array(std::string(COHOM_DATA) + "/" + input);
    vectors.push_back(array.row(std::size_t(rank) % array.rows));
    vectors.back().resize(std::min(most, vectors.back().size()));
  }
  return vectors;
}

std::vector<double> sum_of_all(const Vectors& vectors) {
  std::vector<double> sum(vectors[0].size());
  for (const auto& vector : vectors)
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += vector[i];
  return sum;
}

/// The vectors as their type has them.
Vectors stored(const Vectors& vectors, ElementType type) {
  Vectors same;
  for (const auto& vector : vectors) same.push_back(to_values(type, to_bytes(type, vector)));
  return same;
}

double nmse_of(CodecHarness& harness, const Vectors& vectors) {
  return vnmse(sum_of_all(vectors), harness.allreduce(vectors));
}

double packed_nmse(const std::string& asked, const Vectors& vectors,
                   ElementType type = ElementType::f32, Parameters more = {}) {
  more.emplace("nmse", asked);
  CodecHarness harness = harness_of(int(vectors.size()), more, type);
  return nmse_of(harness, stored(vectors, type));
}

double thc_nmse(const std::string& asked, const Vectors& vectors) {
  CodecHarness harness({.make = make_thc,
                        .ranks = int(vectors.size()),
                        .parameters = {{"nmse", asked}},
                        .segment = 16384});
  return nmse_of(harness, vectors);
}

class Nmse : public testing::TestWithParam<std::tuple<const char*, int>> {
 protected:
  Vectors vectors() const {
    const auto [input, ranks] = GetParam();
    return vectors_of(input, ranks);
  }
};

TEST_P(Nmse, OfPackedIsKept) {
  const Vectors all = vectors();
  // Zeros beside other values count as rounded, and quiet mini-blocks are not dropped.
  const double least = std::string(std::get<0>(GetParam())).starts_with("sparse") ? 0.03 : 0.05;
  for (const char* asked : {"0.1", "1e-2", "1e-3", "1e-6"}) {
    const double measured = packed_nmse(asked, all);
    EXPECT_LE(measured, std::stod(asked));
    EXPECT_GE(measured, std::stod(asked) * least) << "bits are wasted";
  }
}

TEST_P(Nmse, OfThcIsKept) {
  const Vectors all = vectors();
  for (const char* asked : {"0.1", "1e-2", "1e-3"}) {
    const double measured = thc_nmse(asked, all);
    EXPECT_LE(measured, std::stod(asked));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Inputs, Nmse,
    testing::Combine(testing::Values("gauss", "lognormal", "mixture", "smooth", "field",
                                     "sparse:0.05", "transformer_step20.npy",
                                     "transformer_step500.npy", "lstm_dense_step20.npy",
                                     "lstm_dense_step300.npy", "digits_step20.npy",
                                     "digits_step100.npy"),
                     testing::Values(2, 4, 8)),
    [](const auto& instance) {
      std::string name = std::get<0>(instance.param);
      std::ranges::replace_if(
          name, [](char c) { return !std::isalnum(c); }, '_');
      return name + "_" + std::to_string(std::get<1>(instance.param));
    });

/// What no energy of contributions tells: the sum's own is measured.
TEST(PackedNmse, IsKeptWhereRanksCancel) {
  for (const double left : {1e-1, 1e-3}) {
    Vectors vectors = vectors_of("gauss", 4);
    const auto sum = sum_of_all(vectors);
    for (auto& vector : vectors)
      for (std::size_t i = 0; i < sum.size(); ++i) vector[i] -= (1 - left) * sum[i] / 4;
    vectors = stored(vectors, ElementType::f32);
    const double measured = packed_nmse("1e-3", vectors);
    EXPECT_LE(measured, 1e-3) << left;
    EXPECT_GE(measured, 1e-4) << left;
  }
}

TEST(PackedNmse, IsExactWhereNothingIsLeft) {
  Vectors vectors = stored(vectors_of("gauss", 2), ElementType::f32);
  for (std::size_t i = 0; i < vectors[0].size(); ++i) vectors[1][i] = -vectors[0][i];
  CodecHarness harness = harness_of(2, {{"nmse", "0.1"}});
  for (const double value : harness.allreduce(vectors)) ASSERT_EQ(value, 0);
}

TEST(PackedNmse, IsKeptWhereRanksAreAlike) {
  for (const int ranks : {2, 5, 9, 40}) {
    Vectors vectors = vectors_of("lognormal", 1);
    vectors.resize(std::size_t(ranks), vectors[0]);
    EXPECT_LE(packed_nmse("1e-3", vectors), 1e-3) << ranks;
  }
}

/// Columns of a matrix as wide as there are buckets; a few large values; one alone.
TEST(PackedNmse, IsKeptWhereEnergyLiesInFewPlaces) {
  for (const std::size_t distance : {64, 1024, 20000, 60000}) {
    Vectors vectors = vectors_of("gauss", 3);
    for (auto& vector : vectors)
      for (std::size_t i = 7; i < vector.size(); i += distance) vector[i] *= 1000;
    EXPECT_LE(packed_nmse("1e-3", vectors), 1e-3) << distance;
    EXPECT_LE(packed_nmse("1e-7", vectors), 1e-7) << distance;
  }
}

TEST(PackedNmse, IsKeptForEveryTypeAndDither) {
  const Vectors vectors = vectors_of("mixture", 4);
  for (const ElementType type : all_element_types)
    for (const char* dither : {"correlated", "independent"})
      for (const char* shift : {"0", "2"})
        for (const char* asked : {"1e-2", "2e-5"}) {
          const double measured =
              packed_nmse(asked, vectors, type, {{"dither", dither}, {"down_shift", shift}});
          EXPECT_LE(measured, std::stod(asked)) << name_of(type) << dither << shift;
          EXPECT_GE(measured, std::stod(asked) / 20) << name_of(type) << dither << shift;
        }
  EXPECT_LE(packed_nmse("1e-12", vectors), 1e-12);
  EXPECT_LE(packed_nmse("1e-12", vectors, ElementType::f64), 1e-12);
}

TEST(PackedNmse, HoldsForNumbersAtBothEndsOfTheirType) {
  for (const ElementType type : {ElementType::f32, ElementType::f64})
    for (const bool largest : {false, true}) {
      const bool wide = type == ElementType::f64;
      const double scale = largest ? (wide ? 1e306 : 1e36) : (wide ? 1e-303 : 1e-34);
      Vectors vectors = vectors_of("gauss", 3);
      for (auto& vector : vectors)
        for (double& value : vector) value *= scale;
      // In units that squares have room in.
      CodecHarness harness = harness_of(3, {{"nmse", "1e-3"}}, type);
      auto found = harness.allreduce(vectors);
      auto exact = sum_of_all(stored(vectors, type));
      for (auto* values : {&found, &exact})
        for (double& value : *values) value /= scale;
      EXPECT_LE(vnmse(exact, found), 1e-3) << name_of(type) << largest;
    }
}

TEST(PackedNmse, IsThatOfTheOthersBesideNumbersThatAreNone) {
  Vectors vectors = vectors_of("gauss", 3);
  const auto exact = sum_of_all(stored(vectors, ElementType::f32));
  vectors[1][100] = std::numeric_limits<double>::infinity();
  vectors[1][101] = 1e30;  // its mini-block does not count
  vectors[2][40000] = std::numeric_limits<double>::quiet_NaN();
  CodecHarness harness = harness_of(3, {{"nmse", "1e-3"}});
  auto found = harness.allreduce(vectors);
  for (const std::size_t mini : {100 / 32, 40000 / 32})
    for (std::size_t i = 32 * mini; i < 32 * (mini + 1); ++i) found[i] = exact[i];
  EXPECT_LE(vnmse(exact, found), 1e-3);
  EXPECT_GE(vnmse(exact, found), 1e-4);
}

TEST(PackedNmse, TakesFewVectorsAndNone) {
  for (const std::size_t count : {1u, 5u, 31u, 33u, 1025u}) {
    Vectors vectors = vectors_of("gauss", 3);
    for (auto& vector : vectors) vector.resize(count);
    EXPECT_LE(packed_nmse("1e-3", vectors), 1e-3) << count;
  }
  const Vectors zeros(3, std::vector<double>(5000));
  CodecHarness harness = harness_of(3, {{"nmse", "1e-3"}});
  for (const double value : harness.allreduce(zeros)) ASSERT_EQ(value, 0);
}

}  // namespace
}  // namespace cohom::test
