// lowrank beside the same algorithm in plain f64, what it recovers exactly, what it keeps, and
// values that no product can hold.

#include "codecs/lowrank/lowrank.hpp"

#include "codec_harness.hpp"
#include "elements.hpp"
#include "kernels/core/body/random.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

using Vector = std::vector<double>;

CodecHarness harness_of(int ranks, const Parameters& parameters,
                        ElementType type = ElementType::f32, bool mean = false) {
  return CodecHarness({.make = make_lowrank,
                       .ranks = ranks,
                       .type = type,
                       .parameters = parameters,
                       .mean = mean,
                       .in_place = ranks == 2});
}

double energy_of(const Vector& values) {
  double energy = 0;
  for (const double value : values) energy += value * value;
  return energy;
}

/// Energy of what `a` and `b` differ by, of that of `b`.
double distance(const Vector& a, const Vector& b) {
  Vector difference = a;
  for (std::size_t i = 0; i < a.size(); ++i) difference[i] -= b[i];
  return energy_of(difference) / energy_of(b);
}

Vector sum_of(const std::vector<Vector>& vectors) {
  Vector sum(vectors[0].size());
  for (const Vector& vector : vectors)
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += vector[i];
  return sum;
}

/// Sums of `rank` products of a column and a row, both at random.
Vector matrix_of_rank(std::size_t rank, std::size_t elements, std::size_t columns,
                      std::uint64_t seed) {
  const Vector left = normal_values(elements / columns + 1, seed),
               right = normal_values(rank * columns, seed + 1000);
  Vector values(elements);
  for (std::size_t i = 0; i < elements; ++i)
    for (std::size_t k = 0; k < rank; ++k)
      values[i] += std::cos(double(k + 1) * left[i / columns]) * right[k * columns + i % columns];
  return values;
}

/// The algorithm, of matrices whose rows are whole or not, in f64 and by the definitions.
class PlainLowrank {
 public:
  PlainLowrank(std::size_t ranks, std::size_t elements, std::size_t columns, std::size_t rank)
      : elements_(elements),
        columns_(columns),
        rank_(rank),
        rows_((elements + columns - 1) / columns),
        left_(ranks, Vector(elements)),
        start_(rank, Vector(rows_)) {}

  Vector allreduce(const std::vector<Vector>& inputs, std::uint64_t step) {
    using namespace kernels::body;
    orthonormalise(start_);
    for (std::size_t k = 0; k < rank_; ++k)
      for (std::size_t row = 0; energy_of(start_[k]) == 0 && row < rows_; ++row)
        drawn(k)[row] = float(std::int32_t(draw(frame(key(0, step, Stream::projection, 0), row),
                                                std::uint32_t(k)))) *
                        0x1p-31;
    for (std::size_t k = 0; k < rank_; ++k)
      if (energy_of(start_[k]) == 0) start_[k] = drawn_[k];
    for (std::size_t k = 0; rows_ <= rank_ && k < rank_; ++k)
      for (std::size_t row = 0; row < rows_; ++row) start_[k][row] = row == k ? 1 : 0;

    std::vector<Vector> basis(rank_, Vector(columns_));
    for (std::size_t r = 0; r < inputs.size(); ++r)
      for (std::size_t i = 0; i < elements_; ++i) {
        left_[r][i] += inputs[r][i];
        for (std::size_t k = 0; k < rank_; ++k)
          basis[k][i % columns_] += start_[k][i / columns_] * left_[r][i];
      }
    orthonormalise(basis);
    start_.assign(rank_, Vector(rows_));
    Vector sum(elements_);
    for (Vector& left : left_) {
      std::vector<Vector> products(rank_, Vector(rows_));
      for (std::size_t i = 0; i < elements_; ++i)
        for (std::size_t k = 0; k < rank_; ++k)
          products[k][i / columns_] += left[i] * basis[k][i % columns_];
      for (std::size_t i = 0; i < elements_; ++i)
        for (std::size_t k = 0; k < rank_; ++k) {
          const double part = products[k][i / columns_] * basis[k][i % columns_];
          left[i] -= part;
          sum[i] += part;
        }
      for (std::size_t k = 0; k < rank_; ++k)
        for (std::size_t row = 0; row < rows_; ++row) start_[k][row] += products[k][row];
    }
    return sum;
  }

  [[nodiscard]] const Vector& left(std::size_t rank) const { return left_[rank]; }

 private:
  Vector& drawn(std::size_t k) {
    drawn_.resize(rank_, Vector(rows_));
    return drawn_[k];
  }
  static void orthonormalise(std::vector<Vector>& vectors) {
    for (std::size_t k = 0; k < vectors.size(); ++k) {
      const double energy = energy_of(vectors[k]);
      for (int pass = 0; pass < 2; ++pass)
        for (std::size_t j = 0; j < k; ++j) {
          double part = 0;
          for (std::size_t i = 0; i < vectors[k].size(); ++i) part += vectors[j][i] * vectors[k][i];
          for (std::size_t i = 0; i < vectors[k].size(); ++i) vectors[k][i] -= part * vectors[j][i];
        }
      const double left = energy_of(vectors[k]);
      for (double& value : vectors[k]) value = left <= 1e-10 * energy ? 0 : value / std::sqrt(left);
    }
  }

  std::size_t elements_, columns_, rank_, rows_;
  std::vector<Vector> left_;
  std::vector<Vector> start_, drawn_;
};

TEST(Lowrank, DoesAsTheAlgorithmInF64) {
  constexpr std::size_t columns = 32;
  for (const ElementType type : {ElementType::f32, ElementType::f64})
    for (const std::size_t ranks : {1, 2, 5})
      for (const std::size_t count : {40, 1024, 3001}) {
        PlainLowrank plain(ranks, count, columns, 2);
        auto harness = harness_of(
            int(ranks), {{"rank", "2"}, {"columns", "32"}, {"error_feedback", "on"}}, type);
        // Two strong columns, so that no rounding decides which ones are taken.
        for (std::uint64_t step = 0; step < 6; ++step) {
          std::vector<Vector> inputs;
          for (std::size_t rank = 0; rank < ranks; ++rank) {
            inputs.push_back(matrix_of_rank(2, count, columns, rank % 2 + 7));
            const Vector noise = normal_values(count, 100 * step + rank, 0.1);
            for (std::size_t i = 0; i < count; ++i) inputs.back()[i] += noise[i];
            inputs.back() = to_values(type, to_bytes(type, inputs.back()));
          }
          const Vector expected = plain.allreduce(inputs, step);
          EXPECT_LT(distance(harness.allreduce(inputs, step), expected), 1e-9)
              << name_of(type) << ", " << ranks << " ranks, " << count << ", step " << step;
          // Where all can be sent, rounding alone is left: so compared with what was to be sent.
          Vector left = to_values(type, harness.state(int(ranks) - 1));
          for (std::size_t i = 0; i < count; ++i) left[i] -= plain.left(ranks - 1)[i];
          left.resize(count);
          EXPECT_LT(energy_of(left), 1e-9 * energy_of(expected))
              << name_of(type) << ", " << ranks << " ranks, " << count << ", step " << step;
        }
      }
}

TEST(Lowrank, RecoversSumsOfItsRank) {
  for (const ElementType type : all_element_types)
    for (const int ranks : {1, 3})
      for (const bool mean : {false, true}) {
        std::vector<Vector> inputs;
        for (int rank = 0; rank < ranks; ++rank)
          inputs.push_back(
              to_values(type, to_bytes(type, matrix_of_rank(1, 2000, 64, std::uint64_t(rank)))));
        auto harness = harness_of(ranks, {{"columns", "64"}}, type, mean);
        Vector expected = sum_of(inputs);
        for (double& value : expected) value /= mean ? ranks : 1;
        EXPECT_LT(distance(harness.allreduce(inputs), expected), type == ElementType::bf16 ? 2e-5
                                                                 : size_of(type) == 2      ? 1e-6
                                                                                           : 1e-11)
            << name_of(type) << ", " << ranks << " ranks";
      }
}

/// Nothing is lost: what was summed so far and what ranks keep are together all that came. And what
/// stays the same is taken bit by bit.
TEST(Lowrank, FeedsBackWhatItLeavesOut) {
  constexpr std::size_t count = 3000;
  const std::vector<Vector> inputs{normal_values(count, 1), normal_values(count, 2)};
  for (const ElementType type : {ElementType::f32, ElementType::f64, ElementType::bf16}) {
    auto harness = harness_of(2, {{"columns", "64"}, {"error_feedback", "on"}}, type);
    std::vector<Vector> rounded;
    for (const Vector& input : inputs) rounded.push_back(to_values(type, to_bytes(type, input)));
    Vector came(count);
    constexpr int calls = 60;
    for (int step = 0; step < calls; ++step) {
      const Vector sum = harness.allreduce(rounded, std::uint64_t(step));
      for (std::size_t i = 0; i < count; ++i) came[i] += sum[i];
    }
    Vector all = sum_of(rounded);
    for (double& value : all) value *= calls;
    EXPECT_LT(distance(came, all), 0.1);
    for (int rank = 0; rank < 2; ++rank) {
      const Vector left =
          to_values(type == ElementType::f64 ? type : ElementType::f32, harness.state(rank));
      for (std::size_t i = 0; i < count; ++i) came[i] += left[i];
    }
    EXPECT_LT(distance(came, all), type == ElementType::bf16 ? 1e-5 : 1e-11) << name_of(type);
  }
}

/// The whole vector is added exactly; what was kept goes with it, and the next call is as ever.
TEST(Lowrank, ValuesThatProductsCannotHold) {
  constexpr std::size_t count = 1000;
  for (const double value :
       {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN(), 3e38}) {
    auto harness = harness_of(3, {{"error_feedback", "on"}, {"columns", "16"}});
    std::vector<Vector> inputs(3, Vector(count));
    for (std::size_t rank = 0; rank < 3; ++rank)
      for (std::size_t i = 0; i < count; ++i) inputs[rank][i] = double((i * (rank + 3)) % 17) - 8;
    const Vector first = harness.allreduce(inputs);
    auto spoilt = inputs;
    spoilt[1][500] = value;
    const Vector sum = harness.allreduce(spoilt, 1);
    EXPECT_TRUE(value < 1e39 ? sum[500] == double(float(value))
                             : std::isnan(value) == std::isnan(sum[500]));
    for (std::size_t i = 0; i < count; ++i) {
      if (i != 500) EXPECT_NEAR(first[i] + sum[i], 2 * sum_of(inputs)[i], 1e-3) << "element " << i;
    }
    for (const double next : harness.allreduce(inputs, 2)) ASSERT_TRUE(std::isfinite(next));
  }
}

/// Far apart, and as small or large as the type has them.
TEST(Lowrank, ScalesByAPowerOfTwo) {
  constexpr std::size_t count = 2048;
  const Vector values = matrix_of_rank(2, count, 64, 3);
  auto harness = harness_of(1, {{"columns", "64"}}, ElementType::f64);
  const Vector plain = harness.allreduce(std::vector<Vector>{values});
  for (const int exponent : {-900, -300, 300, 900}) {
    Vector inputs = values, expected = plain;
    for (double& value : inputs) value = std::ldexp(value, exponent);
    for (double& value : expected) value = std::ldexp(value, exponent);
    EXPECT_EQ(harness.allreduce(std::vector<Vector>{inputs}), expected) << exponent;
  }
}

/// What is larger makes an exact sum of the vector.
TEST(Lowrank, HasALargestExponent) {
  for (const auto& [type, exponent] :
       {std::pair{ElementType::f32, 111}, {ElementType::bf16, 111}, {ElementType::f64, 1007}}) {
    const Vector values(200, std::ldexp(1.5, exponent)), larger(200, std::ldexp(1.5, exponent + 1));
    auto harness = harness_of(2, {{"columns", "16"}}, type);
    for (const double element : harness.allreduce(std::vector<Vector>(2, values)))
      EXPECT_NEAR(element / larger[0], 1, 1e-6);
    EXPECT_EQ(harness.sum(0)[0], std::uint64_t(exponent) + 2000);
    const Vector sum = harness.allreduce(std::vector<Vector>{larger, values});
    EXPECT_EQ(harness.sum(0)[0], 0xffffffffu);
    EXPECT_EQ(sum, to_values(type, to_bytes(type, Vector(200, std::ldexp(4.5, exponent)))));
  }
}

TEST(Lowrank, HoldsDenormals) {
  const double least = std::ldexp(1, -149);
  Vector values(640);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t row = i / 64, column = i % 64;
    values[i] = least * double(row * column);
  }
  auto harness = harness_of(2, {{"columns", "64"}});
  const Vector sum = harness.allreduce(std::vector<Vector>(2, values));
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(sum[i], 2 * values[i], 2 * least);
}

/// Also where they have more rows than directions, but not many.
TEST(Lowrank, MatricesOfFewRowsComeBack) {
  for (const std::size_t rows : {1, 2, 3, 4, 5, 8})
    for (std::uint64_t step = 0; step < 20; ++step) {
      const std::size_t count = 64 * rows - (rows <= 4 ? 7 : 0);
      const auto vector = [&](std::uint64_t seed) {
        return rows <= 4 ? normal_values(count, seed) : matrix_of_rank(2, count, 64, seed);
      };
      const std::vector<Vector> inputs{vector(step), vector(step + 50)};
      auto harness = harness_of(2, {{"columns", "64"}});
      EXPECT_LT(distance(harness.allreduce(inputs, step), sum_of(inputs)), rows <= 4 ? 1e-11 : 1e-6)
          << rows << " rows, step " << step;
    }
}

/// A word that was changed on its way shows, and does not stay.
TEST(Lowrank, ForgetsWhatIsNoNumber) {
  constexpr std::size_t count = 1000;
  auto harness = harness_of(2, {{"columns", "16"}, {"error_feedback", "on"}});
  const std::vector<Vector> inputs{normal_values(count, 1), normal_values(count, 2)};
  harness.allreduce(inputs);
  for (int rank = 0; rank < 2; ++rank) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    Bytes& state = harness.state(rank);
    std::memcpy(state.data() + state.size() - sizeof nan, &nan, sizeof nan);
  }
  for (const double value : harness.allreduce(inputs, 1)) ASSERT_TRUE(std::isfinite(value));
}

TEST(Lowrank, WordsAreProducts) {
  auto harness = harness_of(2, {{"columns", "16"}, {"rank", "3"}});
  harness.allreduce(std::vector<Vector>{normal_values(100, 1), normal_values(100, 2)});
  EXPECT_EQ(harness.sum(0).size(), 1u) << "scale";
  EXPECT_EQ(harness.sum(1).size(), 24u) << "16 rows of 3";
  EXPECT_EQ(harness.sum(2).size(), 11u) << "7 rows of 3";
}

TEST(Lowrank, RefusesWhatIsNoMatrix) {
  for (const auto& [name, value] :
       {std::pair{"columns", "48"}, {"columns", "8"}, {"rank", "0"}, {"rank", "33"}})
    EXPECT_THROW(harness_of(1, {{name, value}}), Error) << name << '=' << value;
}

}  // namespace
}  // namespace cohom::test
