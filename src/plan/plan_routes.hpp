#pragma once
// PlanRoutes: the routes that a plan has besides native, and the memory that calls by them take.

#include "agreement/short_sum.hpp"
#include "plan/plan_memory.hpp"
#include "plan/plan_part.hpp"
#include "plan/plan_route.hpp"

#include <cohom/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace cohom {

/// Of a route's vectors, if they travel with the agreement of their calls: what recursive doubling
/// adds as it is, in the same order. Else null. `checksum`: of all bytes. @throws std::bad_alloc
std::unique_ptr<ShortSum> make_short_sum(const RouteMaterial& material, const Codec& codec,
                                         const AlgorithmRow& algorithm, std::uint64_t divisor,
                                         bool checksum);

struct PlanRoutes {
  /// Calls that go natively need none, nor do short ones; take_memory() makes them, too.
  /// @throws what PlanRoute::make_executor() does
  void make_executors();
  /// What a call needs that does not go natively: before its codec begins, behind the part's
  /// prepare(). Does nothing where an earlier call took it, or all calls go natively.
  /// @throws std::bad_alloc or Error
  void take_memory();
  /// Takes the memory of calls that go the third way: of `third_sum`, or else of `third`, which it
  /// makes. Whether there is such a way, and that went well: else a warning says why not.
  [[nodiscard]] bool take_memory_of_third() noexcept;
  /// What a vector takes that travels with the agreement of its call. @throws std::bad_alloc
  void take_memory_of(ShortSum& sum);
  /// Whatever calls may come. @throws as take_memory()
  void take_all_memory();
  /// From now on workspaces count in PlanMemory, whose Bytes these are.
  void count_memory(std::size_t most, int rank);
  /// Of executors, the part and long vectors that travel with the agreement; 0 before there is any.
  [[nodiscard]] std::size_t workspace_bytes() const;
  /// Segment, bytes of state and rounds, for a vector of so many elements.
  void describe(std::size_t elements, PlanDescription& description) const;

  /// Of calls, where the plan offloads of those that all ranks can offload. It does not exist where
  /// all calls go natively.
  PlanRoute first;
  PlanRoute other;  ///< of all other calls, if it exists
  PlanRoute third;  ///< of calls that go the third way of their race
  std::function<PlanRoute()> make_third = nullptr;  ///< null: the race has none
  /// Of vectors that travel with the agreement of their calls, in place of a route. Null: they do
  /// not.
  std::unique_ptr<ShortSum> first_sum, third_sum;
  PlanPart* part = nullptr;                                 ///< the plan's, of what is no allreduce
  std::optional<PlanMemory::Bytes> counted = std::nullopt;  ///< none: the plan is in no cache
};

}  // namespace cohom
