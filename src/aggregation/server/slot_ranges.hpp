#pragma once
// SlotRanges: gives out runs of slots, and lets them rest before somebody else gets them.

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace cohom::offload {

class SlotRanges {
 public:
  using Clock = std::chrono::steady_clock;

  /// A packet that is being summed while its group goes may touch its slot for a moment: `rest`
  /// must be longer than that.
  SlotRanges(std::uint32_t slots, Clock::duration rest) : slots_(slots), rest_(rest) {}

  /// The first slot of a run; none when there is no such run free now.
  std::optional<std::uint32_t> take(std::uint32_t count, Clock::time_point now);
  void give_back(std::uint32_t first, Clock::time_point now);
  /// Slots that nobody has, resting ones among them.
  [[nodiscard]] std::uint32_t free() const;

 private:
  struct Run {
    std::uint32_t first = 0, count = 0;
    std::optional<Clock::time_point> given_back;
  };
  std::uint32_t slots_;
  Clock::duration rest_;
  std::vector<Run> runs_;  ///< ascending
};

}  // namespace cohom::offload
