#include "codecs/common/nmse.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace cohom {
namespace {

/// Binary digits of a number, the leading one included.
int significand_digits(ElementType type) {
  switch (type) {
    case ElementType::f32: return 24;
    case ElementType::f64: return 53;
    case ElementType::f16: return 11;
    case ElementType::bf16: break;
  }
  return 8;
}

}  // namespace

/// An error is at most 2^-digits of a number, and its square a third of that on average.
double nmse_of_rounding(ElementType type) {
  return std::ldexp(1.0, -2 * significand_digits(type)) / 3;
}

double least_nmse_of_type(ElementType type, std::uint32_t ranks) {
  const int hops = std::max(1, static_cast<int>(std::bit_width(ranks - 1)));
  return (1 + hops) * nmse_of_rounding(type);
}

double read_nmse(const ParameterReader& reader, ElementType type, std::uint32_t ranks) {
  const double nmse = reader.fraction("nmse", min_nmse, max_nmse);
  const double least = least_nmse_of_type(type, ranks);
  if (nmse < least)
    reader.reject("nmse", "results of " + std::string(name_of(type)) + " on " +
                              std::to_string(ranks) + " ranks are rounded; give " +
                              nmse_text(least) + " or more, or take exact");
  return nmse;
}

std::string nmse_text(double nmse) {
  int exponent = 0;
  double digits = nmse * 10;  // of which the number is digits / 10
  for (; digits < 10; --exponent) digits *= 10;
  for (; digits >= 100; ++exponent) digits /= 10;
  int tenths = static_cast<int>(std::ceil(digits));
  if (tenths == 100) tenths = 10, ++exponent;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + "e" +
         std::to_string(exponent);
}

}  // namespace cohom
