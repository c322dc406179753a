#pragma once
// What a group's header says of its numbers.

#include "kernels/core/hd.hpp"
#include "kernels/exact/body/exact_format.hpp"
#include "kernels/exact/exact.hpp"

#include <cstddef>
#include <cstdint>

namespace cohom::kernels {

/// What the codes of a mini-block say of its numbers.
struct ExactSpan {
  int high = 0;  ///< 1 + the position of the highest bit; 0: there are zeros alone
  int low = 0;   ///< position of the lowest
  bool finite = true, minus_zero = false;

  /// The code of the highest bit.
  template <class T>
  [[nodiscard]] COHOM_HD unsigned high_code() const {
    if (!finite) return body::exact_not_finite<T>;
    return high == 0 ? 0 : at_least_one(high - body::exact_high_offset<T>);
  }
  /// That of the lowest.
  template <class T>
  [[nodiscard]] COHOM_HD unsigned low_code() const {
    return high == 0 ? 0 : at_least_one(body::exact_positions<T> - low - body::exact_low_offset<T>);
  }

 private:
  COHOM_HD static unsigned at_least_one(int code) {
    return code < 1 ? 1 : static_cast<unsigned>(code);
  }
};

/// Elements as a source: of the mini-blocks of a group their spans and their numbers, of which
/// those behind the last are 0.
template <class T>
class ExactElements {
 public:
  COHOM_HD ExactElements(const void* elements, std::size_t count)
      : elements_(elements), count_(count) {}

  [[nodiscard]] COHOM_HD ExactSpan span(std::size_t mini) const {
    ExactSpan span{.low = body::exact_positions<T>};
    const std::size_t end = (mini + 1) * exact_mini;
    for (std::size_t i = mini * exact_mini; i < end && i < count_; ++i) {
      const body::ExactParts<T> parts((*this)(i));
      span.finite &= parts.finite;
      span.minus_zero |= parts.minus_zero();
      if (!parts.finite || parts.mantissa == 0) continue;
      const int high = parts.position + static_cast<int>(body::bit_length(parts.mantissa));
      const int low = parts.position + static_cast<int>(body::trailing_zeros(parts.mantissa));
      span.high = high > span.high ? high : span.high;
      span.low = low < span.low ? low : span.low;
    }
    return span;
  }
  [[nodiscard]] COHOM_HD body::ExactParts<T> operator()(std::size_t index) const {
    return body::ExactParts<T>(index < count_ ? body::load_raw<T>(elements_, index) : T{});
  }

 private:
  const void* elements_;
  std::size_t count_;
};

}  // namespace cohom::kernels
