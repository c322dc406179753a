#pragma once
// PlanCache: the plans behind allreduce(), bounded in number and memory, least recently used out
// first. Ranks may keep different ones (a plan in flight is not reused): nothing that travels
// depends on it.

#include "memory/placement.hpp"
#include "plan/plan_core.hpp"

#include <cohom/options.hpp>

#include <cstddef>
#include <list>
#include <memory>

namespace cohom {

class PlanCache {
 public:
  static constexpr std::size_t max_plans = 128;
  /// Of all but the newest plan, for their workspaces.
  static constexpr std::size_t max_bytes = std::size_t{1} << 30;

  /// A plan that is not in flight, made when there is none. Only then the options are resolved: the
  /// environment's defaults are the same as long as the cache lives.
  /// @throws what resolve() and PlanCore's constructor do.
  std::shared_ptr<PlanCore> find_or_make(const PlanEnvironment& environment, std::size_t count,
                                         ElementType type, const Options& options,
                                         const Placement& placement);
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::size_t count = 0;
    ElementType type = ElementType::f32;
    Placement placement;
    Options options;  ///< as given
    std::shared_ptr<PlanCore> plan;
  };
  void drop_oldest();

  std::list<Entry> entries_;  ///< most recently used first
  std::size_t bytes_ = 0;     ///< of their workspaces
};

}  // namespace cohom
