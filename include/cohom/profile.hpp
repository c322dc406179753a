#pragma once
// Profile: where the time of calls goes on one rank.

#include <cohom/cxx20.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cohom {

/// What a rank does in a call; every moment of it belongs to one phase.
enum class Phase : std::uint8_t {
  agree,   ///< encoding what rounds before the payload agree on (norms, widths, indices)
  encode,  ///< encoding the payload
  merge,   ///< adding what arrived, in whatever round
  decode,  ///< decoding sums
  wire,    ///< in the transport, moving messages
  wait,    ///< nothing to do before others' messages come, or own ones leave
  other,   ///< all the rest: starting, bookkeeping
};
inline constexpr std::size_t phases = 7;

constexpr std::string_view name_of(Phase phase) noexcept {
  constexpr std::string_view names[phases] = {"agree", "encode", "merge", "decode",
                                              "wire",  "wait",   "other"};
  return names[static_cast<std::size_t>(phase)];
}

/// A phase timer: gives all time to phases, one after the other, so nothing is counted
/// twice and nothing is left out. Times are those of a clock on the wall: where ranks share a core,
/// the time in which another rank had it is in there.
class Profile {
 public:
  /// The first phase begins; what was before belongs to no phase.
  void start() { last_ = Clock::now(); }
  /// Gives `phase` the time since start() or the phase before.
  void end_phase(Phase phase) {
    const auto now = Clock::now();
    times_[static_cast<std::size_t>(phase)] += now - last_;
    last_ = now;
  }
  void lap(Phase phase) { end_phase(phase); }  ///< old name
  /// Forgets all times.
  void reset() { times_ = {}; }

  /// Of all times in a phase on this rank.
  [[nodiscard]] double seconds(Phase phase) const {
    return std::chrono::duration<double>(times_[static_cast<std::size_t>(phase)]).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_ = {};
  std::array<Clock::duration, phases> times_ = {};
};

}  // namespace cohom
