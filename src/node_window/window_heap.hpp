#pragma once
// WindowHeap: which ranges of a node window's memory for payloads are free.

#include <cstddef>
#include <map>
#include <optional>

namespace cohom {

/// Ranges are whole pages; long ones begin at a huge page.
class WindowHeap {
 public:
  explicit WindowHeap(std::size_t bytes) { free_.emplace(0, bytes); }

  /// As many bytes as the range of a request has.
  static std::size_t whole(std::size_t bytes);
  /// The first byte of a free range that fits, which is no longer free. None: there is none.
  std::optional<std::size_t> take(std::size_t bytes);
  /// A range that take() gave.
  void give_back(std::size_t first, std::size_t bytes);

 private:
  std::map<std::size_t, std::size_t> free_;  ///< bytes, by first byte; neighbours are joined
};

}  // namespace cohom
