#pragma once
// GroupTable: the groups of a data plane whose program reads them while they change.

#include "aggregation/protocol/group.h"
#include "aggregation/server/data_plane.hpp"
#include "aggregation/server/slot_ranges.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cohom::offload {

class GroupTable {
 public:
  /// `groups` is the memory that the program reads.
  GroupTable(std::span<cohom_group> groups, std::uint32_t slots);

  [[nodiscard]] std::uint32_t slots() const { return slots_; }
  [[nodiscard]] std::uint32_t free_slots() const { return ranges_.free(); }

  /// `parent` is where the plan's parent takes packets; without one nothing is read of it.
  std::optional<std::uint32_t> add_group(const GroupPlan& plan, const sockaddr_in& parent);
  void start(std::uint32_t number);
  void close(std::uint32_t number);
  /// Whether the parent has answered.
  [[nodiscard]] bool parent_known(std::uint32_t number) const;
  /// What is said to the parent until it is: its answer carries the same nonce.
  [[nodiscard]] cohom_header hello_to_parent(std::uint32_t number) const;
  [[nodiscard]] std::uint64_t met(std::uint32_t number) const;
  [[nodiscard]] GroupCounters counters(std::uint32_t number) const;

 private:
  using Clock = SlotRanges::Clock;
  std::span<cohom_group> groups_;
  std::vector<std::optional<Clock::time_point>> closed_;  ///< by group
  std::uint32_t slots_;
  SlotRanges ranges_;
};

}  // namespace cohom::offload
