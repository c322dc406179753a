#pragma once
// CallAgreement: before anything else is sent, all ranks find out whether they make the same call
// and whether each of them can.
//
// A fixed-size maximum over {error, offloading, hash, ~hash} of the calls' signatures by
// dissemination: ceil(log2 n) messages of 40 bytes, whatever went wrong on whichever rank. Because
// the maximum of ~hash is the complement of the minimum, the calls differ exactly when the two
// disagree. Only then ranks tell what they wanted, so that the error can name who differs.
//
// Ranks decide by these words what they do next, so each message carries a checksum: words that
// were changed on their way are an error, not another decision.

#include "agreement/call_differences.hpp"
#include "agreement/call_signature.hpp"
#include "base/tags.hpp"

#include <cohom/error.hpp>
#include <cohom/transport.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace cohom {

/// Whether a rank could offload the call. The numbers travel (docs/wire-format.md); a greater one
/// is heard first.
enum class Offloads : std::uint64_t { yes, waits_for_others, no };

class CallAgreement {
 public:
  /// `error`: this rank cannot make the call. Starts the exchange; the channel outlives it.
  CallAgreement(Channel& channel, int rank, int ranks, CallSignature signature,
                std::optional<Error> error, Offloads offloads = Offloads::no);

  /// Takes one completion whose cookie is one of ours. @throws Error(transport) for words that were
  /// changed on their way
  void complete(const Completion& completion);
  [[nodiscard]] static bool owns(std::uint64_t cookie) {
    return round_of_cookie(cookie) == call_round;
  }

  [[nodiscard]] bool finished() const { return state_ == State::finished && pending_ == 0; }
  /// The error that all ranks have in common, once finished.
  [[nodiscard]] const std::optional<Error>& error() const { return result_; }
  /// The lowest rank that cannot offload the call, of those that do not just wait for others if
  /// there is one; once finished. None: all can.
  [[nodiscard]] std::optional<int> unready_rank() const;
  /// Whom it waits for until it is finished; for messages.
  [[nodiscard]] std::string waits_for() const;

 private:
  enum class State { maximum, records, message, finished };
  static constexpr std::size_t message_bytes = 1024;

  /// {error, not offloading, hash, ~hash, checksum}; equal words have equal checksums.
  using Table = std::array<std::uint64_t, 5>;
  using Message = std::array<std::byte, message_bytes>;

  void next_hop();
  void merge_arrived();
  void evaluate();
  void tell_records();
  void take_record();
  void await_record();
  void exchange_message(int telling_rank, const std::string& prefix);
  void read_message();
  void send(const Message& message, int peer, std::uint32_t with_tag);
  void receive(Message& message, int peer, std::uint32_t with_tag);
  [[nodiscard]] int peer_of_hop() const { return (rank_ + ranks_ - distance_) % ranks_; }
  void expect_bytes(std::size_t arrived, std::size_t right) const;
  [[noreturn]] void throw_changed() const;

  Channel& channel_;
  int rank_, ranks_;
  CallSignature signature_;
  std::optional<Error> own_error_, result_;
  State state_ = State::maximum;
  Table maximum_{}, leaving_{};
  std::array<std::uint64_t, 32> arriving_{};  ///< more than a table, to see one of another version
  Message message_{}, record_{};
  std::optional<CallDifferences> differences_;  ///< on rank 0, of calls that differ
  int telling_rank_ = 0;
  int distance_ = 1;
  std::uint32_t hop_ = 0;
  int record_rank_ = 0;      ///< whose record is waited for
  std::size_t pending_ = 0;  ///< requests under way
};

}  // namespace cohom
