#pragma once
// Fifo: first in, first out. Its memory grows to what it once needed and stays.

#include <cstddef>
#include <utility>
#include <vector>

namespace cohom {

template <class T>
class Fifo {
 public:
  [[nodiscard]] bool empty() const { return next_ == items_.size(); }
  [[nodiscard]] std::size_t size() const { return items_.size() - next_; }
  [[nodiscard]] T& front() { return items_[next_]; }
  void push(T item) {
    if (next_ >= 64 && 2 * next_ >= items_.size()) drop_gone();
    items_.push_back(std::move(item));
  }
  void pop() {
    ++next_;
    if (empty()) clear();
  }
  void clear() {
    items_.clear();
    next_ = 0;
  }
  auto begin() { return items_.begin() + static_cast<std::ptrdiff_t>(next_); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin() + static_cast<std::ptrdiff_t>(next_); }
  auto end() const { return items_.end(); }
  /// Those for which `unwanted` holds; how many.
  template <class Unwanted>
  std::size_t erase_if(Unwanted&& unwanted) {
    drop_gone();
    return std::erase_if(items_, unwanted);
  }

 private:
  void drop_gone() {
    items_.erase(items_.begin(), begin());
    next_ = 0;
  }

  std::vector<T> items_;
  std::size_t next_ = 0;  ///< those before it are gone
};

}  // namespace cohom
