#pragma once
// The bytes that libFuzzer gives, taken one after the other.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace cohom::fuzz {

/// When no bytes are left all that it gives is zero.
class FuzzInput {
 public:
  FuzzInput(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}

  [[nodiscard]] bool empty() const { return rest_.empty(); }

  /// `bytes` of them as a number, the lowest first; at most 8.
  std::uint64_t number(std::size_t bytes) {
    std::uint64_t value = 0;
    const std::span<const std::uint8_t> taken = take(bytes);
    for (std::size_t i = 0; i < taken.size(); ++i) value |= std::uint64_t{taken[i]} << (8 * i);
    return value;
  }
  std::uint8_t byte() { return static_cast<std::uint8_t>(number(1)); }
  /// One of 0 ... below - 1.
  std::size_t choice(std::size_t below) { return number(below > 256 ? 4 : 1) % below; }
  template <class Range>
  const auto& one_of(const Range& range) {
    return range[choice(std::size(range))];
  }

  void fill(std::span<std::uint32_t> words) {
    const auto taken = take(words.size_bytes());
    if (!taken.empty()) std::memcpy(words.data(), taken.data(), taken.size());
  }

 private:
  std::span<const std::uint8_t> take(std::size_t bytes) {
    const auto first = rest_.first(std::min(bytes, rest_.size()));
    rest_ = rest_.subspan(first.size());
    return first;
  }

  std::span<const std::uint8_t> rest_;
};

}  // namespace cohom::fuzz
