#pragma once
// CallAtOnce: a blocking call of a vector that travels with the words by which ranks agree, or that
// MPI's own reduction sums: made without what other calls take.

#include "agreement/agreement_words.hpp"
#include "agreement/begun_agreement.hpp"
#include "agreement/board_exchange.hpp"
#include "call/call_request.hpp"
#include "call/call_turn.hpp"
#include "call/native_call.hpp"

#include <cstdint>
#include <memory>
#include <optional>

namespace cohom {

class CallBoard;
class CallOwner;

class CallAtOnce {
 public:
  /// What is passed outlives it.
  CallAtOnce(CallOwner& owner, const CallRequest& request, std::uint64_t number)
      : owner_(owner), request_(request), number_(number) {}
  CallAtOnce(const CallAtOnce&) = delete;
  CallAtOnce& operator=(const CallAtOnce&) = delete;
  ~CallAtOnce() = default;

  /// Whether it is such a call, and all ranks' words came soon and are of this one. With the lock
  /// of the communicator. False: it is to be made in the usual way, by this thread, with the same
  /// number, behind hand_over().
  bool agree() noexcept;
  /// Behind that. @throws Error of MPI's reduction, or where memory is missing, after which no
  /// other call can be made
  void complete();
  /// In place of it: tells the request what the others have been told. If they have been told
  /// anything, they do not learn of what fails on this rank from now on.
  void hand_over(CallRequest& request);

 private:
  [[nodiscard]] bool is_such() const;
  bool take_turn();
  bool start_turn(ShortSum* sum);
  bool agree_by_board(const CallPace& pace);
  bool agree_by_messages(const CallPace& pace);
  bool all_are_told();
  void sum_natively();
  [[nodiscard]] PlanCore& plan() const { return *request_.core; }

  CallOwner& owner_;
  const CallRequest& request_;
  std::uint64_t number_;
  AgreementWords words_;
  std::optional<BoardExchange> exchange_;  ///< of a communicator with a board
  std::shared_ptr<BegunAgreement> begun_;  ///< of the others
  CallPace pace_;                          ///< of all ranks, once they agree
  ShortSum* sum_ = nullptr;                ///< what travels with the words
  std::optional<NativeCall> native_;       ///< in its place
  bool waits_ = false;  ///< so the others are told, of a call that may go natively
  CallTurn turn_;
};

}  // namespace cohom
