#pragma once
// GuardedBuffer: a user's buffer at a chosen alignment, between fences that must stay as they were.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohom::test {

class GuardedBuffer {
 public:
  /// Starts `misalignment` bytes behind a cache line.
  GuardedBuffer(std::size_t bytes, std::size_t misalignment)
      : memory_(bytes + 3 * line, fence), bytes_(bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data()) + line;
    first_ = line + (line - address % line) % line + misalignment;
  }

  [[nodiscard]] std::byte* data() { return memory_.data() + first_; }
  [[nodiscard]] std::span<std::byte> bytes() { return {data(), bytes_}; }
  [[nodiscard]] std::span<const std::byte> bytes() const {
    return {memory_.data() + first_, bytes_};
  }

  void fill(std::span<const std::byte> values) { std::ranges::copy(values, data()); }
  [[nodiscard]] bool holds(std::span<const std::byte> values) const {
    return std::ranges::equal(bytes(), values);
  }
  /// Whether nothing was written outside the buffer.
  [[nodiscard]] bool fences_intact() const {
    const std::span<const std::byte> all(memory_);
    const auto untouched = [](std::byte byte) { return byte == fence; };
    return std::ranges::all_of(all.first(first_), untouched) &&
           std::ranges::all_of(all.subspan(first_ + bytes_), untouched);
  }

 private:
  static constexpr std::size_t line = 64;
  static constexpr std::byte fence{0xa5};

  std::vector<std::byte> memory_;
  std::size_t bytes_;
  std::size_t first_ = 0;
};

}  // namespace cohom::test
