#pragma once
// OutcomeAgreement: the word with which all ranks find out, at the end of what a call offloaded,
// whether the network failed any of them.
//
// A dissemination, of one bit: in hop k a rank tells the one 2^k ranks on. A failure does not wait
// for its turn: who knows of one tells it in all its messages at once, so that ranks whose sums
// cannot come any more give up. Early messages carry the largest value there is, so the outcome is
// still the same everywhere. The two values are far apart, so that words that were changed on their
// way are an error and not the other outcome.

#include "base/tags.hpp"

#include <cohom/transport.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

namespace cohom {

class OutcomeAgreement {
 public:
  /// Expects the others' messages from now on; the channel outlives it.
  OutcomeAgreement(Channel& channel, int rank, int ranks);

  /// How it ended here. Once; or never, when a failure was known first.
  void tell(bool failed);
  /// Takes one completion whose cookie is one of ours. @throws Error(transport) for a word that no
  /// rank sends
  void complete(const Completion& completion);
  [[nodiscard]] static bool owns(std::uint64_t cookie) {
    return round_of_cookie(cookie) == outcome_round;
  }

  [[nodiscard]] bool told() const { return told_ || failed_; }
  /// Whether it failed on some rank, as far as is known; the same on all ranks once finished.
  [[nodiscard]] bool failed() const { return failed_; }
  /// Nothing is under way any more.
  [[nodiscard]] bool done() const { return sent_ == hops_ && pending_ == 0; }
  /// Whom it waits for until it is finished; for messages.
  [[nodiscard]] std::string waits_for() const;

 private:
  /// What travels (docs/wire-format.md).
  static constexpr std::uint64_t all_well = 0x9d3a5c7b16e4f208, some_failed = 0x62c5a384e91b0df7;

  void send_what_may_go();
  [[nodiscard]] int peer_of(std::size_t hop) const;

  Channel& channel_;
  int rank_, ranks_;
  std::size_t hops_;
  std::array<std::uint64_t, max_outcome_hops> arriving_{}, leaving_{};
  std::array<bool, max_outcome_hops> arrived_{};
  std::size_t sent_ = 0;     ///< hops
  std::size_t pending_ = 0;  ///< requests under way
  bool told_ = false, failed_ = false;
};

}  // namespace cohom
