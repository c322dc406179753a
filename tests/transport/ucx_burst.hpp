#pragma once
// Bursts: several ranks of a group over UCX/TCP die within milliseconds, while calls are under way.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohom::testing {

/// All of it follows from `seed`.
struct Burst {
  struct Death {
    int rank;
    int microseconds;  ///< behind the start of the calls
  };

  explicit Burst(std::uint64_t number);
  [[nodiscard]] bool dies(int rank) const;

  std::uint64_t seed;
  int ranks;
  std::vector<Death> deaths;
  std::size_t elements;
  bool connected;  ///< a call by `direct` comes first, so that all ranks know all others
  /// All calls go by `direct`, so that all survivors meet an error, and go on in a group of their
  /// own. Else algorithms take turns, and who meets an error leaves: one more death for the others.
  bool survivors_go_on;
};

struct BurstReport {
  int survivors = 0;
  int aborted = 0;  ///< survivors that a signal ended
  int hung = 0;
  int wrong = 0;  ///< survivors that met no error, or could not go on
};

/// Forks the ranks and waits for them. @throws what fork_rank() does.
BurstReport run_burst(const Burst& burst);

}  // namespace cohom::testing
