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
};

/// @throws Error(unsupported) for `offload` without an aggregator, and for checksums with an
/// algorithm that has others sum; Error(invalid_argument) for an unknown algorithm.
RouteChoice choose_route(const PlanEnvironment& environment, const PlanOptions& options,
                         const RouteQuestion& question);

/// Of an allgather, in which nothing is added. @throws Error(unsupported) for an algorithm that
/// needs sums; what choose_route() throws of checksums and names
RouteChoice choose_gather(const PlanOptions& options, const RouteQuestion& question, int ranks);

/// Of calls that sum and are no allreduce: where `auto` may, it takes an algorithm that gives each rank its
/// part.
void choose_for_parts(const CodecRow& codec, const PlanOptions& options, Selection& selection);

}  // namespace cohom
