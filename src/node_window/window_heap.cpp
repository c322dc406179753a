#include "node_window/window_heap.hpp"

namespace cohom {

namespace {

constexpr std::size_t page = 4096, huge_page = std::size_t{2} << 20;

std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

std::size_t WindowHeap::whole(std::size_t bytes) {
  return round_up(bytes, bytes >= huge_page ? huge_page : page);
}

std::optional<std::size_t> WindowHeap::take(std::size_t bytes) {
  const std::size_t wanted = whole(bytes);
  const std::size_t unit = wanted >= huge_page ? huge_page : page;
  if (wanted < bytes) return std::nullopt;  // it wrapped around
  for (const auto& [first, size] : free_) {
    const std::size_t begin = round_up(first, unit);
    const std::size_t skipped = begin - first;
    if (skipped > size || wanted > size - skipped) continue;
    const std::size_t behind = size - skipped - wanted;
    if (behind != 0) free_.emplace(begin + wanted, behind);
    if (skipped != 0)
      free_.find(first)->second = skipped;
    else
      free_.erase(first);
    return begin;
  }
  return std::nullopt;
}

void WindowHeap::give_back(std::size_t first, std::size_t bytes) {
  auto range = free_.emplace(first, whole(bytes)).first;
  if (const auto next = std::next(range);
      next != free_.end() && range->first + range->second == next->first) {
    range->second += next->second;
    free_.erase(next);
  }
  if (range == free_.begin()) return;
  if (const auto before = std::prev(range); before->first + before->second == range->first) {
    before->second += range->second;
    free_.erase(range);
  }
}

}  // namespace cohom
