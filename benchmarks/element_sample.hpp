#pragma once
// ElementSample: which elements of a vector are looked at where all of them would take long.

#include "counter_random.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace cohom::bench {

/// All elements of a vector of up to 2^20. Of a longer one 2^20: it is cut into so many runs, alike
/// in length, and one element of each is drawn, so that no place in blocks of any size is left out.
/// The same elements each time.
class ElementSample {
 public:
  static constexpr std::size_t max_elements = std::size_t{1} << 20;

  /// `elements` of the vector, at most 2^43.
  explicit ElementSample(std::size_t elements)
      : elements_(elements), size_(std::min(elements, max_elements)) {}

  [[nodiscard]] std::size_t size() const { return size_; }

  /// The index of an element, in growing order. k < size().
  [[nodiscard]] std::size_t operator[](std::size_t k) const {
    const std::size_t begin = k * elements_ / size_, end = (k + 1) * elements_ / size_;
    return begin + random_.bits(k) % (end - begin);
  }

 private:
  std::size_t elements_;
  std::size_t size_;
  CounterRandom random_{0, 0, 0};
};

}  // namespace cohom::bench
