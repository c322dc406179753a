#pragma once
// Numbers as integers, and integers as numbers. Integer arithmetic alone, for the host and for
// devices.

#include "kernels/core/body/element.hpp"
#include "kernels/core/hd.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace cohom::kernels::body {

/// An element type's numbers are integers times its least denormal: so many bits, or positions.
template <class T>
struct ExactFormat;
template <>
struct ExactFormat<float> {
  using Bits = std::uint32_t;
  static constexpr int mantissa = 23, exponents = 8;
};
template <>
struct ExactFormat<double> {
  using Bits = std::uint64_t;
  static constexpr int mantissa = 52, exponents = 11;
};
template <>
struct ExactFormat<float16> {
  using Bits = std::uint16_t;
  static constexpr int mantissa = 10, exponents = 5;
};
template <>
struct ExactFormat<bfloat16> {
  using Bits = std::uint16_t;
  static constexpr int mantissa = 7, exponents = 8;
};

template <class T>
inline constexpr int exact_max_exponent = (1 << ExactFormat<T>::exponents) - 1;
/// Bits of the largest number.
template <class T>
inline constexpr int exact_positions = exact_max_exponent<T> - 2 + ExactFormat<T>::mantissa + 1;
/// Exponent of the least denormal.
template <class T>
inline constexpr int exact_unit = 2 -
                                  (1 << (ExactFormat<T>::exponents - 1)) - ExactFormat<T>::mantissa;

/// A finite number: mantissa * 2^position, in least denormals.
template <class T>
struct ExactParts {
  std::uint64_t mantissa = 0;
  int position = 0;
  bool negative = false, finite = true, nan = false;

  COHOM_HD explicit ExactParts(T element) {
    using Format = ExactFormat<T>;
    typename Format::Bits bits;
    std::memcpy(&bits, &element, sizeof bits);
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << Format::mantissa) - 1);
    const int exponent = static_cast<int>(bits >> Format::mantissa) & exact_max_exponent<T>;
    negative = bits >> (8 * sizeof(T) - 1) != 0;
    finite = exponent != exact_max_exponent<T>;
    nan = !finite && fraction != 0;
    mantissa = exponent == 0 ? fraction : fraction | std::uint64_t{1} << Format::mantissa;
    position = exponent == 0 ? 0 : exponent - 1;
  }
  [[nodiscard]] COHOM_HD bool minus_zero() const { return finite && negative && mantissa == 0; }
};

/// An element of its bits and sign.
template <class T>
COHOM_HD inline T exact_element(typename ExactFormat<T>::Bits magnitude, bool negative) {
  using Bits = typename ExactFormat<T>::Bits;
  const Bits bits =
      static_cast<Bits>(magnitude | (negative ? Bits{1} << (8 * sizeof(T) - 1) : Bits{0}));
  T element{};
  std::memcpy(static_cast<void*>(&element), &bits, sizeof element);
  return element;
}
template <class T>
COHOM_HD inline T exact_infinity(bool negative) {
  using Bits = typename ExactFormat<T>::Bits;
  return exact_element<T>(
      static_cast<Bits>(Bits{exact_max_exponent<T>} << ExactFormat<T>::mantissa), negative);
}
template <class T>
COHOM_HD inline T exact_nan() {
  using Bits = typename ExactFormat<T>::Bits;
  constexpr int mantissa = ExactFormat<T>::mantissa;
  return exact_element<T>(
      static_cast<Bits>((Bits{exact_max_exponent<T>} << mantissa) | Bits{1} << (mantissa - 1)),
      false);
}

}  // namespace cohom::kernels::body
