#pragma once
// PlanEnvironment: what a communicator gives to its plans.

#include "executor/executor.hpp"
#include "plan/plan_options.hpp"

#include <cohom/offload.hpp>
#include <cohom/topology.hpp>
#include <cohom/transport.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace cohom {

class Offloading;
class RouteRaces;

struct PlanEnvironment {
  Transport* transport = nullptr;
  /// By rank: the number of its node. Empty: each is on a node of its own.
  std::span<const std::uint32_t> nodes = {};
  /// By rank: the number of its node's switch. Empty: nobody knows.
  std::span<const std::uint32_t> switches = {};
  std::span<const UsableCore> cores = {};  ///< of this rank; empty: nobody knows
  Aggregator* native_reductions = nullptr;
  NativeSums* native_sums = nullptr;
  /// The communicator's end of the aggregator at an address; null when it has none there.
  std::function<Offloading*(const std::string& address)> offloading;
  const kernels::KernelTable* kernels = nullptr;
  RouteRaces* races = nullptr;  ///< of the communicator
  bool has_board = false;       ///< CallBoard: short vectors travel without messages
  Tuning tuning;
  const OptionDefaults* defaults = nullptr;
};

}  // namespace cohom
