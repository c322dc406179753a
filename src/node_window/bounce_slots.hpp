#pragma once
// BounceSlots: where a message is copied that lies in no window, on its way to one rank.

#include "node_window/copy_choice.hpp"
#include "node_window/node_window.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cohom {

class BounceSlots {
 public:
  /// Longer messages travel in parts, so that one is read while the next is written.
  static constexpr std::size_t max_part_bytes = std::size_t{256} << 10;

  /// `peer`: the receiver's index in the node. The window outlives it.
  BounceSlots(NodeWindow& window, std::size_t peer)
      : window_(window), first_(window.layout().slot(peer, 0)) {}

  /// Slots side by side.
  struct Run {
    std::uint32_t first = 0, count = 0;
    /// To which all of them belong.
    [[nodiscard]] std::uint32_t mark() const { return lent_marks + first; }
  };
  /// The lowest that are free: what was used last is still in the caches. `is_taken`: whether the
  /// receiver has taken what was last put under a mark. `is_stuck`: the reserve may be used. None:
  /// too few are free. @throws Error(memory)
  template <class IsTaken>
  [[nodiscard]] std::optional<Run> take(std::size_t bytes, bool is_stuck, IsTaken is_taken) {
    std::erase_if(in_use_, [&](const Run& run) {
      if (!is_taken(run.mark())) return false;
      free_ |= bits_of(run);
      return true;
    });
    const auto run = take_free(bytes, false);
    return run || !is_stuck ? run : take_free(bytes, true);
  }
  /// @returns the offset in the window.
  std::size_t fill(const Run& run, std::span<const std::byte> part);

 private:
  static std::uint64_t bits_of(const Run& run) {
    return ((std::uint64_t{1} << run.count) - 1) << run.first;
  }
  std::optional<Run> take_free(std::size_t bytes, bool of_reserve);

  NodeWindow& window_;
  std::size_t first_;                                     ///< offset
  std::uint64_t free_ = ~std::uint64_t{0}, touched_ = 0;  ///< a bit each
  std::vector<Run> in_use_;
  CopyChoice copies_;
};

}  // namespace cohom
