#pragma once
// CallPace: what ranks tell each other of the time that calls take, behind the words by which they
// agree on a call: 30 bits of a word (docs/wire-format.md).

#include <algorithm>
#include <cstdint>
#include <optional>

namespace cohom {

class CallPace {
 public:
  static constexpr int first_bit = 34;

  CallPace() = default;
  /// `waits`: this rank does nothing else until the call is over. `seconds`: of an earlier call;
  /// none: it has no time to tell.
  CallPace(bool waits, std::optional<double> seconds)
      : some_go_on_(!waits), code_(seconds ? code_of(*seconds) : 0) {}
  /// From a word that travelled.
  explicit CallPace(std::uint64_t word)
      : some_go_on_((word >> first_bit & 1) != 0), code_(std::uint32_t(word >> (first_bit + 1))) {}

  [[nodiscard]] std::uint64_t word() const {
    return std::uint64_t{some_go_on_} << first_bit | std::uint64_t{code_} << (first_bit + 1);
  }
  /// What two ranks tell, or more.
  void merge(const CallPace& other) {
    some_go_on_ |= other.some_go_on_;
    code_ = std::max(code_, other.code_);
  }

  [[nodiscard]] bool all_wait() const { return !some_go_on_; }
  /// The least time of any rank: that of the last to make the call, who waited for nobody.
  [[nodiscard]] std::optional<double> seconds() const {
    if (code_ == 0) return std::nullopt;
    return double(longest - code_ + 1) * unit;
  }

 private:
  static constexpr double unit = 128e-9;  ///< seconds
  static constexpr std::uint32_t longest = (1u << 29) - 1;

  /// The less time, the greater.
  static std::uint32_t code_of(double seconds) {
    const double units = std::clamp(seconds / unit, 1.0, double(longest));
    return longest - static_cast<std::uint32_t>(units) + 1;
  }

  bool some_go_on_ = false;
  std::uint32_t code_ = 0;  ///< 29 bits; 0: none
};

}  // namespace cohom
