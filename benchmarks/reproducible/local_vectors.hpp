#pragma once
// LocalVectors: the vectors that one rank adds.

#include <cstddef>
#include <span>
#include <vector>

namespace cohom::bench {

template <class T>
class LocalVectors {
 public:
  LocalVectors(std::size_t vectors, std::size_t elements)
      : vectors_(vectors), elements_(elements), values_(vectors * elements) {}

  /// How many there are; a rank may have none.
  [[nodiscard]] std::size_t size() const { return vectors_; }
  /// Of each.
  [[nodiscard]] std::size_t elements() const { return elements_; }
  [[nodiscard]] std::span<T> operator[](std::size_t k) {
    return std::span(values_).subspan(k * elements_, elements_);
  }
  [[nodiscard]] std::span<const T> operator[](std::size_t k) const {
    return std::span(values_).subspan(k * elements_, elements_);
  }
  /// Of all vectors, one behind the other.
  [[nodiscard]] std::span<const T> values() const { return values_; }

 private:
  std::size_t vectors_, elements_;
  std::vector<T> values_;
};

}  // namespace cohom::bench
