#pragma once
// PlanCache: the plans behind allreduce(), bounded, least recently used out first. Ranks may keep
// different ones (a plan in flight is not reused): nothing that travels depends on it.

#include "plan_core.hpp"

#include <cstddef>
#include <list>
#include <memory>
#include <string>

namespace cohom {

class PlanCache {
 public:
  static constexpr std::size_t capacity = 16;

  /// A plan that is not in flight, made when there is none. @throws what PlanCore's constructor does.
  std::shared_ptr<PlanCore> find_or_make(const PlanEnvironment& environment, std::size_t count,
                                         ElementType type, const ResolvedOptions& options);
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<PlanCore> plan;
  };
  std::list<Entry> entries_;  ///< most recently used first
};

}  // namespace cohom
