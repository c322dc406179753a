#pragma once
// ScheduleLinks: who writes and who reads each slot of a schedule.

#include "schedule/schedule.hpp"

#include <cstdint>
#include <vector>

namespace cohom {

class ScheduleLinks {
 public:
  explicit ScheduleLinks(const Schedule& schedule);

  /// Steps, by number.
  [[nodiscard]] const std::vector<std::uint32_t>& consumers(std::uint32_t slot) const {
    return consumers_[slot];
  }
  [[nodiscard]] std::uint32_t producer(std::uint32_t slot) const { return producer_[slot]; }
  /// The slot of this rank's contribution to the chunk, or Step::no_slot.
  [[nodiscard]] std::uint32_t contribution(std::uint32_t chunk) const {
    return contribution_[chunk];
  }
  /// Whether the buffer's last slot is decoded, so that it may lie in the user's output.
  [[nodiscard]] bool buffer_decoded(std::uint32_t buffer) const { return buffer_decoded_[buffer]; }
  [[nodiscard]] bool offloads() const { return offloads_; }
  [[nodiscard]] bool keeps_contributions() const { return keeps_contributions_; }

 private:
  std::vector<std::vector<std::uint32_t>> consumers_;  ///< by slot
  std::vector<std::uint32_t> producer_;                ///< by slot
  std::vector<std::uint32_t> contribution_;            ///< by chunk
  std::vector<bool> buffer_decoded_;
  bool offloads_ = false;
  bool keeps_contributions_ = true;  ///< no offload overwrites one
};

}  // namespace cohom
