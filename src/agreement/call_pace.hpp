#pragma once
// CallPace: what ranks tell each other of the time that calls take, behind the words by which they
// agree on a call, and of what MPI's own reductions want to be alike: 30 bits of a word
// (docs/wire-format.md).

#include <algorithm>
#include <cstdint>
#include <optional>

namespace cohom {

class CallPace {
 public:
  static constexpr int first_bit = 34;

  CallPace() = default;
  /// `waits`: this rank may sum natively, and does nothing else until the call is over. `in_place`:
  /// its output lies over its input. `seconds`: of an earlier call; none: it has no time to tell.
  CallPace(bool waits, bool in_place, std::optional<double> seconds)
      : some_go_on_(!waits), some_in_place_(in_place), code_(seconds ? code_of(*seconds) : 0) {}
  /// From a word that travelled.
  explicit CallPace(std::uint64_t word)
      : some_go_on_((word >> first_bit & 1) != 0),
        some_in_place_((word >> (first_bit + 1) & 1) != 0),
        code_(std::uint32_t(word >> (first_bit + 2))) {}

  [[nodiscard]] std::uint64_t word() const {
    return std::uint64_t{some_go_on_} << first_bit |
           std::uint64_t{some_in_place_} << (first_bit + 1) |
           std::uint64_t{code_} << (first_bit + 2);
  }
  /// What two ranks tell, or more.
  void merge(const CallPace& other) {
    some_go_on_ |= other.some_go_on_;
    some_in_place_ |= other.some_in_place_;
    code_ = std::max(code_, other.code_);
  }

  [[nodiscard]] bool all_wait() const { return !some_go_on_; }
  [[nodiscard]] bool some_in_place() const { return some_in_place_; }
  /// The least time of any rank: that of the last to make the call, who waited for nobody.
  [[nodiscard]] std::optional<double> seconds() const {
    if (code_ == 0) return std::nullopt;
    return double(longest - code_ + 1) * unit;
  }

 private:
  static constexpr double unit = 128e-9;  ///< seconds
  static constexpr std::uint32_t longest = (1u << 28) - 1;

  /// The less time, the greater.
  static std::uint32_t code_of(double seconds) {
    const double units = std::clamp(seconds / unit, 1.0, double(longest));
    return longest - static_cast<std::uint32_t>(units) + 1;
  }

  bool some_go_on_ = false;
  bool some_in_place_ = false;
  std::uint32_t code_ = 0;  ///< 28 bits; 0: none
};

}  // namespace cohom
