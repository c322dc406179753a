#include "kernels/core/body/float16.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace cohom::kernels::body {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// The value of a 16-bit float from its fields, by the definition.
double value_of(std::uint16_t half, int mantissa_bits, int bias) {
  const int field = (half & 0x7fff) >> mantissa_bits;
  const int mantissa = half & ((1 << mantissa_bits) - 1);
  const double magnitude =
      field == 0 ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                 : std::ldexp(mantissa + (1 << mantissa_bits), field - bias - mantissa_bits);
  return half & 0x8000 ? -magnitude : magnitude;
}

struct Type {
  const char* name;
  int mantissa_bits;
  int bias;
  std::uint16_t infinity;
  std::uint16_t nan;
  float (*widen)(std::uint16_t);
  std::uint16_t (*narrow)(float);
};

class Float16 : public testing::TestWithParam<Type> {};

TEST_P(Float16, WidensExactly) {
  const Type& type = GetParam();
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const auto half = static_cast<std::uint16_t>(i);
    if ((half & 0x7fff) > type.infinity) {
      EXPECT_EQ(bits_of(type.widen(half)), 0x7fc00000u);
    } else if ((half & 0x7fff) == type.infinity) {
      EXPECT_EQ(type.widen(half), half & 0x8000 ? -infinity : infinity);
    } else {
      EXPECT_EQ(static_cast<double>(type.widen(half)),
                value_of(half, type.mantissa_bits, type.bias));
      EXPECT_EQ(std::signbit(type.widen(half)), (half & 0x8000) != 0);
    }
  }
}

TEST_P(Float16, ComesBack) {
  const Type& type = GetParam();
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const auto half = static_cast<std::uint16_t>(i);
    const bool nan = (half & 0x7fff) > type.infinity;
    EXPECT_EQ(type.narrow(type.widen(half)), nan ? type.nan : half);
  }
}

// Between two neighbours: the middle goes to the even one, everything else to the nearer.
TEST_P(Float16, RoundsToNearestEven) {
  const Type& type = GetParam();
  for (std::uint16_t half = 0; half < type.infinity; ++half) {
    const double low = value_of(half, type.mantissa_bits, type.bias);
    const double high =
        value_of(static_cast<std::uint16_t>(half + 1), type.mantissa_bits, type.bias);
    const auto middle = static_cast<float>((low + high) / 2);
    if (static_cast<double>(middle) != (low + high) / 2) continue;  // bf16 denormals of f32
    const auto even = static_cast<std::uint16_t>(half + (half & 1));
    const auto above = static_cast<std::uint16_t>(half + 1);
    EXPECT_EQ(type.narrow(middle), even);
    EXPECT_EQ(type.narrow(-middle), even | 0x8000);
    EXPECT_EQ(type.narrow(std::nextafter(middle, 0.0f)), half);
    EXPECT_EQ(type.narrow(std::nextafter(middle, infinity)), above);
  }
}

TEST_P(Float16, WritesOneNan) {
  const Type& type = GetParam();
  for (std::uint32_t bits : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xffffffffu})
    EXPECT_EQ(type.narrow(from_bits<float>(bits)), type.nan);
  EXPECT_EQ(type.narrow(-infinity), type.infinity | 0x8000);
  EXPECT_EQ(type.narrow(-0.0f), 0x8000);
}

INSTANTIATE_TEST_SUITE_P(
    Both, Float16,
    testing::Values(Type{"f16", 10, 15, 0x7c00, 0x7e00, f16_to_f32, f32_to_f16},
                    Type{"bf16", 7, 127, 0x7f80, 0x7fc0, bf16_to_f32, f32_to_bf16}),
    [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace cohom::kernels::body
