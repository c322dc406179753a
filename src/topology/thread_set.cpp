#include "topology/thread_set.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace cohom {

namespace {

constexpr std::uint32_t word_bits = 64;

std::uint64_t bit_of(std::uint32_t thread) { return std::uint64_t{1} << thread % word_bits; }

}  // namespace

ThreadSet::ThreadSet(std::vector<std::uint64_t> words) : words_(std::move(words)) {
  while (!words_.empty() && words_.back() == 0) words_.pop_back();
}

void ThreadSet::add(std::uint32_t thread) {
  const std::size_t word = thread / word_bits;
  if (words_.size() <= word) words_.resize(word + 1);
  words_[word] |= bit_of(thread);
}

bool ThreadSet::contains(std::uint32_t thread) const {
  const std::size_t word = thread / word_bits;
  return word < words_.size() && (words_[word] & bit_of(thread)) != 0;
}

bool ThreadSet::intersects(const ThreadSet& other) const {
  return !intersection(*this, other).empty();
}

std::vector<std::uint32_t> ThreadSet::numbers() const {
  std::vector<std::uint32_t> numbers;
  for (std::size_t w = 0; w < words_.size(); ++w)
    for (std::uint64_t left = words_[w]; left != 0; left &= left - 1)
      numbers.push_back(static_cast<std::uint32_t>(w) * word_bits +
                        static_cast<std::uint32_t>(std::countr_zero(left)));
  return numbers;
}

ThreadSet intersection(const ThreadSet& a, const ThreadSet& b) {
  std::vector<std::uint64_t> words(std::min(a.words().size(), b.words().size()));
  for (std::size_t w = 0; w < words.size(); ++w) words[w] = a.words()[w] & b.words()[w];
  return ThreadSet(std::move(words));
}

std::string number_ranges(std::span<const std::uint32_t> numbers) {
  std::string text;
  for (std::size_t first = 0; first < numbers.size();) {
    std::size_t last = first;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(numbers[first]);
    if (last > first) text += "-" + std::to_string(numbers[last]);
    first = last + 1;
  }
  return text.empty() ? "none" : text;
}

}  // namespace cohom
