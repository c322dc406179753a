#pragma once
// CallAtOnce: a blocking call on a communicator whose ranks have a board, of a vector that travels
// with the words by which they agree, or that MPI's own reduction sums: made without what other
// calls take.

#include "agreement/agreement_words.hpp"
#include "agreement/board_exchange.hpp"
#include "call/call_request.hpp"
#include "call/call_turn.hpp"
#include "call/native_call.hpp"

#include <cstdint>
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
  /// number. Its words may be on the board; what fails on this rank from then on the others do not
  /// learn of.
  bool agree() noexcept;
  /// Behind that. @throws Error of MPI's reduction, after which no other call can be made
  void complete();
  /// The words of a call that is to be made in the usual way may say so.
  [[nodiscard]] bool told_that_it_waits() const { return native_ && exchange_; }

 private:
  [[nodiscard]] bool is_such() const;
  bool take_turn();
  bool all_are_heard();
  void sum_natively();
  [[nodiscard]] PlanCore& plan() const { return *request_.core; }

  CallOwner& owner_;
  const CallRequest& request_;
  std::uint64_t number_;
  AgreementWords words_;
  std::optional<BoardExchange> exchange_;
  std::optional<NativeCall> native_;  ///< none: the vector travels with the words
  CallTurn turn_;
};

}  // namespace cohom
