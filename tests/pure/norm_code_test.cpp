#include "kernels/thc/body/norm_code.hpp"

#include "codecs/common/global_scale.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace cohom {
namespace {

using namespace kernels::body;
using kernels::outlier_code;

template <class Real>
class NormCode : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(NormCode, Reals);

template <class Real>
std::vector<Real> normals(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  std::vector<Real> values(count);
  for (Real& value : values) value = static_cast<Real>(normal(engine));
  return values;
}

template <class Real>
long double norm_of(const std::vector<Real>& values) {
  long double energy = 0;
  for (Real value : values) energy += static_cast<long double>(value) * value;
  return std::sqrt(energy);
}

template <class Real>
long double value_of(std::uint32_t code) {
  const auto norm = norm_of_code<Real>(code);
  return std::ldexp(static_cast<long double>(norm.mantissa), norm.exponent);
}

TYPED_TEST(NormCode, IsTheNorm) {
  using Real = TypeParam;
  for (std::size_t count : {16, 32, 128, 256, 1024, 65536})
    for (int shift : {0, -30, 30, 100, -100}) {
      auto values = normals<Real>(count, count);
      for (Real& value : values) value = std::ldexp(value, shift);
      const long double norm = norm_of(values);
      const long double coded = value_of<Real>(norm_code(values.data(), count));
      EXPECT_NEAR(static_cast<double>(coded / norm), 1, 1.0 / (1 << 20)) << count << ' ' << shift;
      if (sizeof(Real) == 8) {
        EXPECT_GE(coded, norm * (1 - 1e-14L));  // rounded up: nothing is clamped for it
      }
    }
}

TYPED_TEST(NormCode, OrdersLikeTheNorms) {
  using Real = TypeParam;
  constexpr int largest = std::numeric_limits<Real>::max_exponent - 1;
  constexpr int smallest =
      std::numeric_limits<Real>::min_exponent - std::numeric_limits<Real>::digits;
  std::uint32_t before = 0;
  std::vector<Real> values(16);
  for (int exponent = smallest; exponent <= largest; ++exponent)
    for (std::size_t filled : {1, 2, 3}) {
      values.assign(16, 0);
      for (std::size_t i = 0; i < filled; ++i) values[5 * i] = std::ldexp(Real{1}, exponent);
      const std::uint32_t code = norm_code(values.data(), 16);
      EXPECT_GT(code, before) << exponent;
      before = code;
      EXPECT_NEAR(static_cast<double>(value_of<Real>(code) / norm_of(values)), 1, 1e-6);
    }
  values.assign(16, std::numeric_limits<Real>::max());
  EXPECT_GT(norm_code(values.data(), 16), before);
  EXPECT_LT(norm_code(values.data(), 16), outlier_code);
}

TYPED_TEST(NormCode, ShiftsWithPowersOfTwo) {
  using Real = TypeParam;
  auto values = normals<Real>(256, 7);
  const std::uint32_t code = norm_code(values.data(), 256);
  for (Real& value : values) value = std::ldexp(value, -90);
  EXPECT_EQ(norm_code(values.data(), 256), code - (90u << NormCodeFormat<Real>::mantissa_bits));
}

TYPED_TEST(NormCode, ZeroAndOutlier) {
  using Real = TypeParam;
  std::vector<Real> values(256, Real{-0.0});
  EXPECT_EQ(norm_code(values.data(), 256), 0u);
  for (Real bad : {std::numeric_limits<Real>::infinity(), -std::numeric_limits<Real>::infinity(),
                   std::numeric_limits<Real>::quiet_NaN(), -std::numeric_limits<Real>::quiet_NaN()})
    for (std::size_t at : {0, 17, 255}) {
      values.assign(256, 1);
      values[at] = bad;
      EXPECT_EQ(norm_code(values.data(), 256), outlier_code);
    }
}

TEST(NormCodeWords, AreTheDocumentedOnes) {
  std::vector<float> one(16);
  one[3] = -1;
  EXPECT_EQ(norm_code(one.data(), 16), (127u + 150u) << 23);
  one[3] = 3 * std::ldexp(1.0f, -149);  // 1.5 * 2^-148
  EXPECT_EQ(norm_code(one.data(), 16), ((127u + 150u - 148u) << 23) | 1u << 22);
  std::vector<double> wide(16);
  wide[0] = 1;
  EXPECT_EQ(norm_code(wide.data(), 16), (1023u + 1100u) << 20);
  wide[0] = 1 + 0x1p-50;  // rounded up
  EXPECT_EQ(norm_code(wide.data(), 16), ((1023u + 1100u) << 20) + 1);
}

TYPED_TEST(NormCode, GlobalScaleIsTheRootMeanSquare) {
  using Real = TypeParam;
  constexpr auto type = sizeof(Real) == 4 ? ElementType::f32 : ElementType::f64;
  const auto values = normals<Real>(4096 + 40, 3);
  std::vector<std::uint32_t> codes;
  for (std::size_t first = 0; first < 4096; first += 256)
    codes.push_back(norm_code(values.data() + first, 256));
  std::vector<Real> ragged(values.begin() + 4096, values.end());
  ragged.resize(64);
  codes.push_back(norm_code(ragged.data(), 64));

  const long double rms = norm_of(values) / std::sqrt(4136.0L);
  const std::uint32_t code = global_code(type, codes, 4136);
  EXPECT_NEAR(static_cast<double>(value_of<Real>(code) / rms), 1, 2e-6);
  for (std::size_t padded : {16, 32, 256, 8192}) {
    const long double norm = value_of<Real>(code) * std::sqrt(static_cast<long double>(padded));
    EXPECT_NEAR(
        static_cast<double>(value_of<Real>(block_code_of_global(type, code, padded)) / norm), 1,
        0x1p-21);
  }
}

TYPED_TEST(NormCode, GlobalScaleOfExtremes) {
  using Real = TypeParam;
  constexpr auto type = sizeof(Real) == 4 ? ElementType::f32 : ElementType::f64;
  std::vector<Real> values(16);
  values[0] = std::numeric_limits<Real>::max();
  const std::uint32_t large = norm_code(values.data(), 16);
  values[0] = std::numeric_limits<Real>::denorm_min();
  const std::uint32_t small = norm_code(values.data(), 16);

  using Codes = std::vector<std::uint32_t>;
  EXPECT_EQ(global_code(type, Codes{0, 0, 0}, 48), 0u);
  EXPECT_EQ(global_code(type, Codes{0, outlier_code, large}, 48), outlier_code);
  EXPECT_EQ(global_code(type, Codes{small, large, small}, 1), large);
  EXPECT_EQ(global_code(type, Codes{small, 0}, 1), small);
  EXPECT_EQ(global_code(type, Codes{small, 0}, 4),
            small - (1u << NormCodeFormat<Real>::mantissa_bits));
  EXPECT_EQ(block_code_of_global(type, 0, 256), 0u);
  EXPECT_EQ(block_code_of_global(type, outlier_code, 256), outlier_code);
  EXPECT_LT(block_code_of_global(type, large, 65536), outlier_code);
}

/// With the mean 1 a block of 256 elements has norm 16.
TYPED_TEST(NormCode, GlobalClipsBlocksOfTwiceTheNorm) {
  const auto type = std::is_same_v<TypeParam, double> ? ElementType::f64 : ElementType::f32;
  const std::uint32_t mean = norm_code_of(TypeParam{1}, 0);
  EXPECT_TRUE(clipped_by_global(type, norm_code_of(TypeParam{1}, 5), mean, 256));
  EXPECT_FALSE(clipped_by_global(type, norm_code_of(TypeParam(1.99), 4), mean, 256));
  EXPECT_FALSE(clipped_by_global(type, norm_code_of(TypeParam{1}, 4), mean, 256));
  EXPECT_FALSE(clipped_by_global(type, outlier_code, outlier_code, 256));
  EXPECT_FALSE(clipped_by_global(type, 0, 0, 256));
}

}  // namespace
}  // namespace cohom
