#include "codecs/common/global_scale.hpp"

#include "kernels/thc/body/norm_code.hpp"

#include <algorithm>
#include <cmath>

namespace cohom {
namespace {

using namespace kernels::body;
using kernels::outlier_code;

/// Blocks this many powers of two below the largest count as zero: their squares would be denormal,
/// and no sum that holds the largest can tell.
constexpr int negligible = 500;

template <class Real>
std::uint32_t global_code_of(std::span<const std::uint32_t> block_codes, std::size_t elements) {
  const std::uint32_t largest = std::ranges::max(block_codes);
  if (largest == 0 || largest == outlier_code) return largest;
  const int exponent = norm_of_code<Real>(largest).exponent;  // codes order like norms
  double energy = 0;
  for (std::uint32_t code : block_codes) {
    if (code == 0) continue;
    const auto norm = norm_of_code<Real>(code);
    if (norm.exponent < exponent - negligible) continue;
    const double relative = norm.mantissa * power_of_two<double>(norm.exponent - exponent);
    energy += relative * relative;
  }
  const double mean = std::sqrt(energy / static_cast<double>(elements));
  return norm_code_of(static_cast<Real>(mean), exponent);
}

template <class Real>
std::uint32_t block_code(std::uint32_t code, std::size_t padded) {
  const auto norm = norm_of_code<Real>(code);
  const double scaled = norm.mantissa * std::sqrt(static_cast<double>(padded));
  return norm_code_of(static_cast<Real>(scaled), norm.exponent, CodeRounding::nearest);
}

}  // namespace

std::uint32_t global_code(ElementType type, std::span<const std::uint32_t> block_codes,
                          std::size_t elements) {
  return type == ElementType::f64 ? global_code_of<double>(block_codes, elements)
                                  : global_code_of<float>(block_codes, elements);
}

bool clipped_by_global(ElementType type, std::uint32_t block_code, std::uint32_t code,
                       std::size_t padded) {
  if (block_code == outlier_code) return false;
  const int mantissa_bits = type == ElementType::f64 ? NormCodeFormat<double>::mantissa_bits
                                                     : NormCodeFormat<float>::mantissa_bits;
  // One more in the exponent is a factor of two, and codes order like norms.
  return block_code >=
         block_code_of_global(type, code, padded) + (std::uint32_t{1} << mantissa_bits);
}

std::uint32_t block_code_of_global(ElementType type, std::uint32_t code, std::size_t padded) {
  if (code == 0 || code == outlier_code) return code;
  return type == ElementType::f64 ? block_code<double>(code, padded)
                                  : block_code<float>(code, padded);
}

}  // namespace cohom
