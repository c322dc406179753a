#pragma once
// CompletionQueue: what a channel has completed and not yet reported.

#include <cohom/transport.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace cohom {

/// Its memory grows to the most completions ever in it and stays: a message allocates nothing.
class CompletionQueue {
 public:
  /// Makes room for `more` completions, so that push() cannot fail: callbacks of communication
  /// libraries must not.
  void reserve(std::size_t more) {
    const std::size_t wanted = completions_.size() + more;
    if (completions_.capacity() < wanted) completions_.reserve(2 * wanted);
  }
  void push(const Completion& completion) { completions_.push_back(completion); }
  /// Moves the oldest ones to `out`; how many.
  std::size_t pop(std::span<Completion> out) {
    const std::size_t count = std::min(out.size(), completions_.size() - next_);
    std::copy_n(completions_.begin() + static_cast<std::ptrdiff_t>(next_), count, out.begin());
    next_ += count;
    if (empty()) clear();
    return count;
  }
  [[nodiscard]] bool empty() const { return next_ == completions_.size(); }
  void clear() {
    completions_.clear();
    next_ = 0;
  }

 private:
  std::vector<Completion> completions_;
  std::size_t next_ = 0;  ///< those before it were reported
};

}  // namespace cohom
