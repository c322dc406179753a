#pragma once
// IntegerDigits: numbers as whole numbers of one power of two, in digits that 64-bit integers add.
//
// The idea of P. Worley's shr_reprosum in E3SM and CESM: all numbers of a sum are cut at the same
// places, which their largest and least exponent decide, into integers that leave room for so many
// of them. MPI_Allreduce adds these without rounding, in any order.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace cohom::bench {

/// Exponents of the lowest and behind the highest bit that numbers may have; of none at first.
struct BitRange {
  int lowest = std::numeric_limits<int>::max();
  int end = std::numeric_limits<int>::min();
};

/// float or double.
template <class T>
BitRange range_of(std::span<const T> values);

class IntegerDigits {
 public:
  /// For sums of up to `numbers` (at most 2^32) of them.
  IntegerDigits(const BitRange& range, std::size_t numbers);

  /// How many a number has, 1 at least.
  [[nodiscard]] std::size_t size() const { return size_; }

  /// Adds a number in the range to size() digits, the lowest first.
  void add(double value, std::int64_t* digits) const {
    using Wide = unsigned __int128;
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const auto exponent = static_cast<int>(bits >> mantissa_bits & 0x7ff);
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << mantissa_bits) - 1);
    std::uint64_t whole = exponent == 0 ? fraction : fraction | std::uint64_t{1} << mantissa_bits;
    if (whole == 0) return;
    int place = std::max(exponent, 1) - exponent_bias - lowest_;
    if (place < 0) {  // these bits are zeros: no number has any below the lowest
      whole >>= -place;
      place = 0;
    }
    const std::int64_t sign = static_cast<std::int64_t>(bits) >> 63;  // 0 or -1
    const auto at = static_cast<unsigned>(place);
    Wide rest = Wide{whole} << at % width_;
    for (digits += at / width_; rest != 0; ++digits, rest >>= width_) {
      const auto digit = static_cast<std::int64_t>(static_cast<std::uint64_t>(rest) & mask_);
      *digits += (digit ^ sign) - sign;
    }
  }

  /// The sum again. Settles carries in `digits`, so that all have the sum's sign and none reaches
  /// the next one's place, and adds them as doubles, the lowest first.
  [[nodiscard]] double value(std::span<std::int64_t> digits) const;

 private:
  static constexpr int mantissa_bits = 52;
  static constexpr int exponent_bias = 1023 + mantissa_bits;

  void carry(std::span<std::int64_t> digits) const;

  int lowest_;          ///< exponent of digit 0
  unsigned width_;      ///< bits of a digit of one number
  std::uint64_t mask_;  ///< so many
  std::size_t size_;
};

}  // namespace cohom::bench
