#pragma once
// Superaccumulator: a sum of doubles without rounding, in digits of 32 bits. A reference that is
// quick enough for 10^8 sums; codec.exact_rounding holds it to MPFR.

#include "elements.hpp"
#include "number_format.hpp"

#include <cohom/element_type.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

namespace cohom::test {

class Superaccumulator {
 public:
  void add(double value) {
    ++values_;
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    const int field = static_cast<int>(bits >> 52 & 0x7ff);
    const bool negative = bits >> 63 != 0;
    if (field == 0x7ff) {
      const bool infinite = bits << 12 == 0;
      nan_ |= !infinite;
      plus_infinity_ |= infinite && !negative;
      minus_infinity_ |= infinite && negative;
      return;
    }
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
    const std::uint64_t whole = field == 0 ? fraction : fraction | std::uint64_t{1} << 52;
    minus_zeros_ += whole == 0 && negative ? 1 : 0;
    const int position = below + (field == 0 ? 0 : field - 1);
    unsigned __int128 shifted = static_cast<unsigned __int128>(whole) << position % 32;
    for (auto digit = static_cast<std::size_t>(position / 32); shifted != 0;
         ++digit, shifted >>= 32) {
      const auto part = static_cast<std::int64_t>(static_cast<std::uint32_t>(shifted));
      digits_[digit] += negative ? -part : part;
    }
  }

  /// As MpfrSum::rounded().
  [[nodiscard]] double rounded(ElementType type, std::uint64_t divisor) const {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (nan_ || (plus_infinity_ && minus_infinity_))
      return std::numeric_limits<double>::quiet_NaN();
    if (plus_infinity_ || minus_infinity_) return plus_infinity_ ? infinity : -infinity;
    Digits digits = digits_;
    carry(digits);
    const bool negative = digits.back() < 0;
    if (negative) {
      for (std::int64_t& digit : digits) digit = -digit;
      carry(digits);
    }
    const bool rest = divide(digits, divisor);
    const double magnitude = nearest(digits, rest, number_format(type));
    const bool zero = magnitude == 0 && !negative;
    return negative || (zero && values_ != 0 && minus_zeros_ == values_) ? -magnitude : magnitude;
  }

 private:
  /// Bits below the least denormal of f64, for quotients.
  static constexpr int below = 32;
  using Digits = std::array<std::int64_t, (below + 2098 + 64) / 32>;

  static void carry(Digits& digits) {
    for (std::size_t i = 0; i + 1 < digits.size(); ++i) {
      digits[i + 1] += digits[i] >> 32;
      digits[i] &= 0xffffffff;
    }
  }
  /// Whether there is a remainder.
  static bool divide(Digits& digits, std::uint64_t divisor) {
    if (divisor == 1) return false;
    std::uint64_t rest = 0;
    for (std::size_t i = digits.size(); i-- > 0;) {
      const std::uint64_t all = rest << 32 | static_cast<std::uint64_t>(digits[i]);
      digits[i] = static_cast<std::int64_t>(all / divisor);
      rest = all % divisor;
    }
    return rest != 0;
  }
  /// Whether a bit below this one is set.
  static bool any_below(const Digits& digits, int bit) {
    for (int i = 0; i < bit / 32; ++i)
      if (digits[std::size_t(i)] != 0) return true;
    const std::int64_t mask = (std::int64_t{1} << bit % 32) - 1;
    return (digits[std::size_t(bit / 32)] & mask) != 0;
  }
  static double nearest(const Digits& digits, bool rest, const NumberFormat& format) {
    const auto bit = [&](int i) { return digits[std::size_t(i / 32)] >> (i % 32) & 1; };
    int top = static_cast<int>(32 * digits.size()) - 1;
    while (top >= 0 && digits[std::size_t(top / 32)] == 0) top -= 32;
    while (top >= 0 && bit(top) == 0) --top;
    // The last bit that is kept.
    const int last = std::max(top - format.precision + 1, below + 1074 + format.min_exponent);
    std::int64_t kept = 0;
    for (int i = top; i >= last; --i) kept = 2 * kept + bit(i);
    if (bit(last - 1) != 0 && (kept % 2 != 0 || rest || any_below(digits, last - 1))) ++kept;
    const double value = std::ldexp(static_cast<double>(kept), last - below - 1074);
    return value < std::ldexp(1.0, format.max_exponent) ? value
                                                        : std::numeric_limits<double>::infinity();
  }

  Digits digits_{};  ///< of 32 bits, the least first; what is above is carried later
  std::uint64_t values_ = 0, minus_zeros_ = 0;
  bool nan_ = false, plus_infinity_ = false, minus_infinity_ = false;
};

/// Of each element over all vectors.
inline Bytes accumulated_sums(ElementType type, std::span<const Bytes> vectors,
                              std::uint64_t divisor) {
  std::vector<std::vector<double>> values;
  for (const Bytes& vector : vectors) values.push_back(to_values(type, vector));
  std::vector<double> sums(values[0].size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    Superaccumulator sum;
    for (const auto& vector : values) sum.add(vector[i]);
    sums[i] = sum.rounded(type, divisor);
  }
  return to_bytes(type, sums);
}

}  // namespace cohom::test
