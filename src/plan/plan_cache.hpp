#pragma once
// PlanCache: the plans behind allreduce(), bounded in number and memory, least recently used out
// first. Ranks may keep different ones (a plan in flight is not reused): nothing that travels
// depends on it.

#include "plan/plan_core.hpp"

#include <cstddef>
#include <list>
#include <memory>

namespace cohom {

/// Equal keys make equal plans.
struct PlanKey {
  std::size_t count = 0;
  ElementType type = ElementType::f32;
  Placement placement;
  PlanOptions options;

  friend bool operator==(const PlanKey&, const PlanKey&) = default;
};

class PlanCache {
 public:
  static constexpr std::size_t most_plans = 128;
  /// Of all but the newest plan, for their workspaces.
  static constexpr std::size_t most_bytes = std::size_t{1} << 30;

  /// A plan that is not in flight, made when there is none.
  /// @throws what PlanCore's constructor does.
  std::shared_ptr<PlanCore> find_or_make(const PlanEnvironment& environment, std::size_t count,
                                         ElementType type, const PlanOptions& options,
                                         const Placement& placement);
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    PlanKey key;
    std::shared_ptr<PlanCore> plan;
  };
  void drop_oldest();

  std::list<Entry> entries_;  ///< most recently used first
  std::size_t bytes_ = 0;     ///< of their workspaces
};

}  // namespace cohom
