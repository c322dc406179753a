#pragma once
// CallAgreement: before anything else is sent, all ranks find out whether they make the same call
// and whether each of them can.
//
// A fixed-size maximum over {error, offloading, hash, ~hash} of the calls' signatures, by recursive
// doubling with the same partners whatever went wrong on whichever rank, or by a board where the
// ranks have one. Because the maximum of ~hash is the complement of the minimum, the calls differ
// exactly when the two disagree. Only then ranks tell what they wanted, so that the error can name
// who differs. These messages carry a checksum, too.

#include "agreement/agreement_words.hpp"
#include "agreement/board_exchange.hpp"
#include "agreement/call_channel.hpp"
#include "agreement/call_differences.hpp"
#include "agreement/call_signature.hpp"
#include "agreement/maximum_exchange.hpp"
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
  /// `error`: this rank cannot make the call. Channel and signature outlive it.
  CallAgreement(Channel& channel, int rank, int ranks, const CallSignature& signature,
                std::optional<Error> error);
  CallAgreement(const CallAgreement&) = delete;
  CallAgreement& operator=(const CallAgreement&) = delete;
  ~CallAgreement() = default;

  /// What a rank tells the others.
  [[nodiscard]] static AgreementWords::Table words_of(int rank, int ranks,
                                                      const CallSignature& signature,
                                                      bool has_error, Offloads offloads);

  struct Start {
    Offloads offloads = Offloads::no;
    /// The vector that travels with the words, if those of all ranks do; it has begun, and outlives
    /// this, or is null.
    ShortSum* sum = nullptr;
    CallPace pace = {};          ///< what the rank tells of it
    CallBoard* board = nullptr;  ///< outlives this; null: ranks exchange messages
    std::uint64_t number = 0;    ///< of the call, on the board
  };
  void begin() { begin({}); }
  void begin(const Start& start);
  /// In place of begin(), on a rank with an error: tells it to all ranks that can be reached, and
  /// waits for nothing. With the board of begin().
  void tell_error(CallBoard* board, std::uint64_t number);
  /// Reads the board, if there is one; whether anything moved. @throws Error(transport) as
  /// complete() does, or where the process of a rank has ended
  bool poll();
  /// Takes one completion whose cookie is one of ours. @throws Error(transport) for words that were
  /// changed on their way
  void complete(const Completion& completion);
  [[nodiscard]] static bool owns(std::uint64_t cookie) {
    return round_of_cookie(cookie) == call_round;
  }

  [[nodiscard]] bool done() const { return state_ == State::done && channel_.pending() == 0; }
  /// The error that all ranks have in common, once finished.
  [[nodiscard]] const std::optional<Error>& error() const { return result_; }
  /// Once finished without error: the vectors of all ranks travelled with the words, and the sum is
  /// where it belongs.
  [[nodiscard]] bool has_sum() const { return words_.sum() != nullptr; }
  /// Of all ranks; once finished without error.
  [[nodiscard]] const CallPace& pace() const { return words_.pace(); }
  /// The lowest rank that cannot offload the call, of those that do not just wait for others if
  /// there is one; once finished. None: all can.
  [[nodiscard]] std::optional<int> unready_rank() const;
  /// MaximumExchange::is_owed_sections()
  [[nodiscard]] bool is_owed_sections() const { return exchange_.is_owed_sections(); }
  /// Whom it waits for until it is finished; for messages.
  [[nodiscard]] std::string waits_for() const;

 private:
  enum class State { maximum, records, message, done };
  static constexpr std::size_t message_bytes = 1024;

  using Message = std::array<std::byte, message_bytes>;

  [[nodiscard]] AgreementWords::Table own_words(Offloads offloads) const;
  void use(CallBoard& board, std::uint64_t number);
  void evaluate();
  void tell_records();
  void take_record();
  void await_record();
  void exchange_message(int telling_rank, const std::string& prefix);
  void write_message(const std::string& prefix);
  void read_message();
  [[nodiscard]] std::string prefix_of(int rank) const;
  /// Whose words come next.
  [[nodiscard]] int peer() const;

  CallChannel channel_;
  const CallSignature& signature_;
  std::optional<Error> own_error_, result_;
  State state_ = State::maximum;
  AgreementWords words_;
  std::optional<BoardExchange> board_;  ///< in place of the exchange
  MaximumExchange exchange_{channel_, words_};
  Message message_, record_;                    ///< not initialized: most calls have none
  std::optional<CallDifferences> differences_;  ///< on rank 0, of calls that differ
  int telling_rank_ = 0;
  int record_rank_ = 0;  ///< whose record is waited for
};

}  // namespace cohom
