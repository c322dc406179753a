#pragma once
// How many workers run slices of a plan's codec work, and where.

#include "base/worker_pool.hpp"
#include "plan/plan_codec.hpp"
#include "plan/plan_environment.hpp"

#include <cohom/topology.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cohom {

/// What `threads` comes to on a rank.
struct WorkerChoice {
  std::size_t workers = 0;
  /// Where they run, as the system numbers them; empty: where the calling thread may.
  std::vector<std::uint32_t> hardware_threads = {};
  std::string reason = {};  ///< for people
};

/// `threads`: PlanOptions'. `cores`: of this rank; empty: nobody knows.
WorkerChoice choose_workers(std::optional<std::size_t> threads, std::span<const UsableCore> cores);

/// The pool of a plan; null: the calling thread does all work. `bytes`: of the vector, which lies
/// in the host's memory. Rank 0 says in the log what came out.
/// @throws Error(unsupported) when the system has no threads for a number that was asked for
std::shared_ptr<WorkerPool> workers_for(const PlanCodec& codec, std::size_t bytes,
                                        std::optional<std::size_t> threads,
                                        const PlanEnvironment& environment);

}  // namespace cohom
