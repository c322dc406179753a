#pragma once
// CommunicatorImpl: what the library keeps for one communicator: calls in flight, plans, states.

#include "call.hpp"
#include "plan_cache.hpp"
#include "plan_core.hpp"
#include "state_buffer.hpp"

#include <cohom/communicator.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cohom {

class CommunicatorImpl {
 public:
  CommunicatorImpl(std::shared_ptr<Transport> transport, std::shared_ptr<Aggregator> aggregator);

  /// Finishes the calls in flight: what remains of their requests then needs no communicator.
  ~CommunicatorImpl();
  CommunicatorImpl(const CommunicatorImpl&) = delete;
  CommunicatorImpl& operator=(const CommunicatorImpl&) = delete;

  [[nodiscard]] Transport& transport() const { return *transport_; }
  /// @throws Error(invalid_argument) when COHOM_ISA is wrong: not in the constructor, where no other
  /// rank would learn of it.
  [[nodiscard]] PlanEnvironment environment() const;
  [[nodiscard]] PlanCache& plans() { return plans_; }
  /// By buffer name.
  using States = std::map<std::string, StateBuffer, std::less<>>;
  [[nodiscard]] States& states() { return states_; }
  /// Blocks until no call in flight uses the state. What the next one does with it depends on what
  /// they leave there; and which of them are over already differs from rank to rank.
  void finish_calls_with(const StateBuffer& state);

  /// Number of the next call: equal on all ranks, because calls are collective.
  [[nodiscard]] std::uint64_t next_call() const { return next_call_; }
  std::shared_ptr<CallImpl> start(CallRequest request);
  bool progress();

  Tuning tuning;

 private:
  std::shared_ptr<Transport> transport_;
  std::shared_ptr<Aggregator> aggregator_;
  std::uint64_t next_call_ = 0;
  PlanCache plans_;
  States states_;
  std::vector<std::shared_ptr<CallImpl>> in_flight_;
};

}  // namespace cohom
