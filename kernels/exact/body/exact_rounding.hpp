#pragma once
// A sum or a mean of any width, rounded once. Integer arithmetic alone, for the host and for
// devices.

#include "kernels/core/body/bits.hpp"
#include "kernels/core/hd.hpp"
#include "kernels/exact/body/exact_format.hpp"

#include <cstdint>

namespace cohom::kernels::body {

/// Rounds limbs (of 32 bits, the least first) * 2^position least denormals to nearest, ties to
/// even; `more`: something is below them. The bits of |element|, infinity included.
template <class T>
COHOM_HD inline typename ExactFormat<T>::Bits round_limbs(const std::uint32_t* limbs, int count,
                                                          int position, bool more) {
  using Format = ExactFormat<T>;
  constexpr std::uint64_t infinity = std::uint64_t{exact_max_exponent<T>} << Format::mantissa;
  while (count > 0 && limbs[count - 1] == 0) --count;
  if (count == 0) return 0;
  const auto bit = [&](int i) {
    return i < 0 || i >= 32 * count ? 0u : limbs[i / 32] >> (i % 32) & 1u;
  };
  const int top = 32 * (count - 1) + static_cast<int>(bit_width(limbs[count - 1])) - 1;
  int cut = top - Format::mantissa;         // bits below those that are kept
  if (position + cut < 0) cut = -position;  // a denormal
  std::uint64_t kept = 0;
  for (int i = top; i >= cut; --i) kept = kept << 1 | bit(i);
  if (bit(cut - 1) != 0) {
    bool above_half = more || (kept & 1) != 0;
    for (int i = 0; i < cut - 1 && !above_half; ++i) above_half = bit(i) != 0;
    kept += above_half ? 1 : 0;
  }
  if (position + cut > exact_positions<T>) return static_cast<typename Format::Bits>(infinity);
  // A normal number's first bit adds 1 to the exponent.
  const std::uint64_t bits =
      (static_cast<std::uint64_t>(position + cut) << Format::mantissa) + kept;
  return static_cast<typename Format::Bits>(bits < infinity ? bits : infinity);
}

/// The quotient of limbs and divisor in place, `below` limbs of it below the integers: limbs[0] is
/// the least of them. Whether there is a remainder. divisor < 2^32.
COHOM_HD inline bool divide_limbs(std::uint32_t* limbs, int count, std::uint64_t divisor) {
  std::uint64_t rest = 0;
  for (int i = count - 1; i >= 0; --i) {
    const std::uint64_t digit = rest << 32 | limbs[i];
    limbs[i] = static_cast<std::uint32_t>(digit / divisor);
    rest = digit % divisor;
  }
  return rest != 0;
}

/// Limbs below the integers that a quotient is rounded from: more than 64 significant bits.
inline constexpr int exact_quotient_limbs = 3;

}  // namespace cohom::kernels::body
