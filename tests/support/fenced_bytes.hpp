#pragma once
// FencedBytes: elements that end where memory ends, so that reading or writing behind them faults,
// with words before them that must stay as they were.

#include "fenced_words.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace cohom::test {

class FencedBytes {
 public:
  explicit FencedBytes(std::size_t bytes) : words_(before + (bytes + 7) / 8), bytes_(bytes) {
    std::fill_n(all(), offset() + bytes, fence);
  }
  explicit FencedBytes(std::span<const std::byte> bytes) : FencedBytes(bytes.size()) {
    std::ranges::copy(bytes, data());
  }

  [[nodiscard]] std::byte* data() { return all() + offset(); }
  [[nodiscard]] std::span<const std::byte> bytes() const {
    return {reinterpret_cast<const std::byte*>(words_.data()) + offset(), bytes_};
  }
  /// Whether nothing was written before them.
  [[nodiscard]] bool fence_intact() const {
    const std::span fenced(reinterpret_cast<const std::byte*>(words_.data()), offset());
    return std::ranges::all_of(fenced, [](std::byte byte) { return byte == fence; });
  }

 private:
  static constexpr std::size_t before = 16;  // words
  static constexpr std::byte fence{0xa5};

  std::byte* all() { return reinterpret_cast<std::byte*>(words_.data()); }
  [[nodiscard]] std::size_t offset() const { return 8 * words_.words().size() - bytes_; }

  FencedWords words_;
  std::size_t bytes_;
};

}  // namespace cohom::test
