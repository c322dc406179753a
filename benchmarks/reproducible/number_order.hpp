#pragma once
// How far numbers are apart, counted in the numbers that their type has.

#include <bit>
#include <cstdint>
#include <type_traits>

namespace cohom::bench {

/// The number's place among all of its type, from the lowest on; both zeros are 0. No NaN.
template <class T>
std::int64_t place_of(T number) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr Bits sign = Bits{1} << (8 * sizeof(T) - 1);
  const Bits bits = std::bit_cast<Bits>(number);
  const auto magnitude = static_cast<std::int64_t>(bits & ~sign);
  return (bits & sign) != 0 ? -magnitude : magnitude;
}

/// 0 for equal numbers, 1 for neighbours. Units in the last place, where the exponent is one.
template <class T>
std::uint64_t places_apart(T a, T b) {
  const std::int64_t at = place_of(a), other = place_of(b);
  return at < other ? static_cast<std::uint64_t>(other) - static_cast<std::uint64_t>(at)
                    : static_cast<std::uint64_t>(at) - static_cast<std::uint64_t>(other);
}

}  // namespace cohom::bench
