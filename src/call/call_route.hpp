#pragma once
// CallRoute: which of its plan's routes a call takes: through an aggregator in the network, or from
// rank to rank where a rank cannot; or the third way of a race.

#include "agreement/call_agreement.hpp"
#include "plan/plan_core.hpp"

#include <cstdint>
#include <optional>

namespace cohom {

class CallRoute {
 public:
  /// Nothing but an agreement, until there is a plan.
  explicit CallRoute(std::uint64_t call) : call_(call) {}

  /// The plan outlives the route. As far as anybody knows calls of the plan take its first route.
  void of_plan(PlanCore& plan);
  /// As far as this rank knows all ranks go the third way of their race. Takes its memory, and that
  /// of the own way, in case they do not; but not where the vector travels with the agreement.
  /// False: there is none for the third way, which is a warning.
  /// @throws as PlanRoutes::take_memory()
  [[nodiscard]] bool take_third();
  /// Of the route that it takes, if that is not the third way. @throws the same
  void take_memory();
  /// What this rank can: it takes the call's turn at MPI, and asks an aggregator in the network
  /// unless the call `fails` anyway. @throws Error of MPI's
  void prepare(bool fails);
  /// What it tells the others of that.
  [[nodiscard]] Offloads word() const;
  /// What all ranks agreed on; `in_race`: all make this call in their race, else none goes the
  /// third way. Whether the call takes another route than this rank was prepared for.
  bool agree(std::optional<int> unready_rank, int own_rank, bool in_race);
  /// Takes the call's turn at an aggregator in the network, if it goes there. False: what sums for
  /// it is not prepared, call again.
  [[nodiscard]] bool begin();
  /// All rounds are complete.
  void complete();

  /// Of the call's route, as far as is known; null without a plan, where no executor runs calls,
  /// and where none has yet.
  [[nodiscard]] Executor* executor() const { return taken_ ? taken_->executor.get() : nullptr; }
  /// The third way of a race, as far as this rank knows.
  [[nodiscard]] bool is_third() const { return plan_ && taken_ == &plan_->routes().third; }
  /// Goes to an aggregator in the network, as far as this rank knows.
  [[nodiscard]] bool offloads() const { return offloads_; }

 private:
  [[nodiscard]] Offloading* network() const { return plan_ ? plan_->offloading() : nullptr; }

  std::uint64_t call_;
  PlanCore* plan_ = nullptr;
  const PlanRoute* taken_ = nullptr;
  bool offloads_ = false;
};

}  // namespace cohom
