#pragma once
// LogBudget: so many lines in an interval, and a count of the others. Who may send us bytes does
// not fill our log.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace cohom::offload {

inline constexpr std::uint32_t max_notes = 600;  ///< a minute, of what goes on

class LogBudget {
 public:
  using Clock = std::chrono::steady_clock;

  LogBudget(std::uint32_t lines, std::chrono::milliseconds interval)
      : lines_(lines), interval_(interval) {}

  /// Takes a line: what to write behind it, to tell of those that were not logged before; none:
  /// this one is not logged either.
  std::optional<std::string> take(Clock::time_point now) {
    if (now - begin_ >= interval_) {
      begin_ = now;
      used_ = 0;
    }
    if (used_ == lines_) {
      ++suppressed_;
      return std::nullopt;
    }
    ++used_;
    const auto suppressed = std::exchange(suppressed_, 0);
    if (suppressed == 0) return "";
    return " (" + std::to_string(suppressed) + " lines before this one were not logged)";
  }

 private:
  std::uint32_t lines_;
  std::chrono::milliseconds interval_;
  Clock::time_point begin_ = Clock::now();
  std::uint32_t used_ = 0;
  std::uint64_t suppressed_ = 0;
};

}  // namespace cohom::offload
