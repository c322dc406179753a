#pragma once
// Leftover: elements of the vector that go through a late round of their own, by position.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohom {

class Leftover {
 public:
  void reserve(std::size_t elements) { bits_.resize(elements / 64 + 1); }
  void clear() { bits_.assign(bits_.size(), 0); }

  /// In any order.
  void add(std::size_t position) { bits_[position / 64] |= std::uint64_t{1} << position % 64; }

  /// Lists the positions, ascending; returns how many there are.
  std::size_t finish() {
    positions_.clear();
    for (std::size_t w = 0; w < bits_.size(); ++w)
      for (std::uint64_t left = bits_[w]; left != 0; left &= left - 1)
        positions_.push_back(64 * w + static_cast<std::size_t>(std::countr_zero(left)));
    return positions_.size();
  }
  [[nodiscard]] std::size_t position(std::size_t i) const { return positions_[i]; }

 private:
  std::vector<std::uint64_t> bits_;
  std::vector<std::size_t> positions_;
};

}  // namespace cohom
