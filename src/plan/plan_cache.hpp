#pragma once
// PlanCache: the plans behind allreduce() on a communicator, bounded in number, and in memory with
// those of all others, least recently used out first. Ranks may keep different ones (a plan in
// flight is not reused): nothing that travels depends on it.

#include "memory/placement.hpp"
#include "plan/plan_core.hpp"
#include "plan/plan_memory.hpp"

#include <cohom/options.hpp>

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>

namespace cohom {

class PlanCache final : public PlanMemory::Share {
 public:
  static constexpr std::size_t max_plans = 128;

  /// `in_use`: held by whoever uses the communicator. Outlives this.
  explicit PlanCache(std::recursive_mutex& in_use) : in_use_(in_use) { join(); }
  ~PlanCache() override;

  /// A plan that is not in flight: of that shape, or one of another length that serves it, or a new
  /// one. Only then the options are resolved: the environment's defaults are the same as long as
  /// the cache lives.
  /// @throws what resolve() and PlanCore's constructor do.
  std::shared_ptr<PlanCore> find_or_make(const PlanEnvironment& environment, const PlanShape& shape,
                                         const Options& options, const Placement& placement);
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Placement placement;
    Options options;  ///< as given
    std::shared_ptr<PlanCore> plan;
  };
  using Entries = std::list<Entry>;

  bool drop_one_if_free() override;

  std::recursive_mutex& in_use_;
  Entries entries_;  ///< most recently used first
};

}  // namespace cohom
