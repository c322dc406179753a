#pragma once
// CallOwner: what a call asks of the communicator that it is made on.

#include <cohom/profile.hpp>
#include <cohom/transport.hpp>

#include <cstdint>
#include <span>

namespace cohom {

class BoardLooks;
class CallBoard;
class CallFailures;
class PlanCore;
class RouteRaces;

class CallOwner {
 public:
  [[nodiscard]] virtual Transport& transport() const = 0;
  /// Null: ranks exchange messages.
  [[nodiscard]] virtual CallBoard* board() const = 0;
  [[nodiscard]] virtual CallFailures& failures() = 0;
  /// Null: nobody wants to know.
  [[nodiscard]] virtual Profile* profile() const = 0;
  /// Whether all calls before call `number` have been agreed on, and have their place at an
  /// aggregator.
  [[nodiscard]] virtual bool has_turn(std::uint64_t number) const = 0;
  /// Whether no call is in flight that this thread would have to advance, on any communicator.
  [[nodiscard]] virtual bool nothing_else_moves() const = 0;
  /// Whether no other rank runs where this one does.
  [[nodiscard]] virtual bool has_own_core() const = 0;
  /// Of this rank, where it has such a core.
  [[nodiscard]] virtual BoardLooks& board_looks() = 0;
  [[nodiscard]] virtual RouteRaces& races() = 0;
  virtual void count_native_call() = 0;
  /// One that did not go natively; `third`: it went the third way of its race.
  virtual void count_call(const PlanCore& plan, bool third) = 0;
  /// Room for what one poll of a call brings.
  [[nodiscard]] virtual std::span<Completion> completions() = 0;

 protected:
  ~CallOwner() = default;
};

}  // namespace cohom
