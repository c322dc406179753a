#pragma once
// ThreadSet: hardware threads, by the numbers that the operating system gives them.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cohom {

class ThreadSet {
 public:
  ThreadSet() = default;
  /// Bit b of word w stands for thread 64 w + b.
  explicit ThreadSet(std::vector<std::uint64_t> words);

  void add(std::uint32_t thread);
  [[nodiscard]] bool contains(std::uint32_t thread) const;
  [[nodiscard]] bool intersects(const ThreadSet& other) const;
  [[nodiscard]] bool empty() const { return words_.empty(); }
  /// In ascending order.
  [[nodiscard]] std::vector<std::uint32_t> numbers() const;
  /// The last one is not zero.
  [[nodiscard]] std::span<const std::uint64_t> words() const { return words_; }

  friend bool operator==(const ThreadSet&, const ThreadSet&) = default;

 private:
  std::vector<std::uint64_t> words_;
};

/// What both have.
ThreadSet intersection(const ThreadSet& a, const ThreadSet& b);

/// "0-3,8" of ascending numbers; "none" of none.
std::string number_ranges(std::span<const std::uint32_t> numbers);

}  // namespace cohom
