#pragma once
// Which route the calls of a plan take: the algorithm, and where that is `offload`, who offloads,
// and the algorithm of calls that cannot be offloaded.

#include "codecs/common/codec_row.hpp"
#include "memory/placement.hpp"
#include "plan/plan_environment.hpp"
#include "plan/plan_options.hpp"
#include "plan/selector.hpp"

#include <cohom/merge.hpp>
#include <cohom/reduction_kind.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace cohom {

/// The reason of a choice that a file made. Signatures compare it.
inline constexpr std::string_view decided_by_file = "COHOM_DECISIONS says so";

struct RouteChoice {
  Selection selection;
  Offloading* network = nullptr;  ///< the aggregator that calls go to; null: to none
  const AlgorithmRow* other_algorithm = nullptr;  ///< of calls that cannot go to `network`
  std::string not_offloaded = {};  ///< why `auto` leaves out the aggregator that there is; or empty
};

/// What the choice depends on, besides environment and options; alike on all ranks.
struct RouteQuestion {
  std::string_view codec;  ///< its name
  Merge payload;           ///< what merges the codec's contributions
  std::size_t bytes = 0;   ///< of the vector
  ReductionKind collective = ReductionKind::allreduce;
  bool decodes_parts = false;    ///< CodecRow's
  bool may_be_bypassed = false;  ///< PlanCodec's
};

/// Where `auto` may, it takes an algorithm that gives each rank its part of what is no allreduce.
/// @throws Error(unsupported) for `offload` without an aggregator, for checksums with an algorithm
/// that has others sum, and for an allgather by an algorithm that needs sums;
/// Error(invalid_argument) for an unknown algorithm.
RouteChoice choose_route(const PlanEnvironment& environment, const PlanOptions& options,
                         const RouteQuestion& question);

}  // namespace cohom
