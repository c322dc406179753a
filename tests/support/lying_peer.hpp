#pragma once
// Whole calls over loopback in which one rank lies: it changes words that it sends. What the others
// make of them may be a wrong sum or an error; a crash, or ranks that wait for each other for ever,
// is a defect.
//
// All ranks run in one thread, one slice of work at a time in turn, so that a case always takes the
// same way, and a rank that nobody will answer is seen at once.

#include <cohom/element_type.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cohom::test {

/// How the liar changes a message.
enum class Lie : std::uint8_t {
  flipped_bit,
  random_bytes,
  known_words,  ///< words that are limits of something, mostly at the beginning
  all_random,
  all_alike,
  cut_to_words,
  cut,
};
inline constexpr int lies = 7;

struct LyingPeerCase {
  int ranks = 2;
  std::string spec;  ///< codec and parameters
  std::string_view algorithm = "ring";
  ElementType type = ElementType::f32;
  std::size_t count = 0;  ///< elements
  std::size_t message_bytes = 512;
  bool nasty = false;  ///< vectors with blocks of every kind that a codec treats specially
  bool mean = false;
  std::uint64_t seed = 0;  ///< of the vectors

  int mode = -1;           ///< the lie, as a number; below 0: any
  int percent = 0;         ///< of messages that are changed; 0: one alone
  int target = 0;          ///< the number of that one
  bool agreement = false;  ///< messages by which ranks agree on the call are changed, too
  /// What the liar draws from; equal for equal cases.
  std::function<std::uint64_t()> draw = {};

  [[nodiscard]] std::string name() const;
};

/// A case of any codec, algorithm, type and length, which the seed alone decides.
LyingPeerCase lying_peer_case(std::uint64_t seed);

enum class LyingPeerOutcome : std::uint8_t {
  finished,  ///< on all ranks, whatever the sums are
  failed,    ///< with an Error on some rank; others may wait for it, as documented
  stuck,     ///< no rank failed, and all wait for ever
};

struct LyingPeerReport {
  LyingPeerOutcome outcome = LyingPeerOutcome::finished;
  std::vector<std::string> errors;  ///< what ranks said, "rank 0: ..."
};

/// Two calls, one after the other, in which rank 1 lies.
LyingPeerReport run_lying_peer(const LyingPeerCase& lying);

}  // namespace cohom::test
