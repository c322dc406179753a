#pragma once
// DaemonGroup: a group at a daemon: who contributes, to whom sums go, and what is right to come.

#include "offload/data_plane.hpp"
#include "offload/sum_slots.hpp"
#include "ucx_transport/message_link.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>

namespace cohom::offload {

/// What comes may be anything; everything is checked before any word is touched. Every function wants the
/// worker's lock.
class DaemonGroup {
 public:
  /// `number` is the daemon's own for the group. @throws Error(transport) for a parent that is none.
  DaemonGroup(ucx::Worker& worker, const GroupPlan& plan, std::uint32_t number);

  [[nodiscard]] const GroupPlan& plan() const { return plan_; }
  [[nodiscard]] const GroupCounters& counters() const { return counters_; }

  /// Says hello to the parent, once; whether it has answered.
  bool meet_parent();
  void start() { open_ = true; }

  /// Takes a message of a right form and number, and sends what follows from it.
  cohom_verdict take(const ucx::MessageHeader& header, std::span<const std::byte> data);
  cohom_verdict take_narrow(const ucx::MessageHeader& header, const Widening& widening,
                            std::span<const std::byte> data);
  /// Connects to those that have said hello, and answers them.
  void greet();

 private:
  struct Member {
    std::uint64_t key = 0;
    std::uint32_t group = 0;                 ///< its own number for the group
    std::vector<std::byte> address;          ///< until it is greeted
    std::unique_ptr<ucx::MessageLink> link;  ///< null until then
  };

  [[nodiscard]] Member* member_of(const ucx::MessageHeader& header);
  [[nodiscard]] bool is_from_parent(const ucx::MessageHeader& header) const;
  [[nodiscard]] cohom_verdict check_words(const cohom_header& packet, std::size_t bytes) const;
  cohom_verdict take_hello(const ucx::MessageHeader& header, std::span<const std::byte> data);
  cohom_verdict take_contribution(const ucx::MessageHeader& header,
                                  std::span<const std::byte> data);
  cohom_verdict merge(const cohom_header& packet, std::span<const std::byte> data);
  cohom_verdict take_from_parent(const ucx::MessageHeader& header, std::span<const std::byte> data);
  void spread(const cohom_header& packet, const SharedWords& words);
  void pass_up(const cohom_header& packet, const SharedWords& words);
  void send(std::uint32_t worker, const Member& member, cohom_header packet, std::uint8_t kind,
            const SharedWords& words = {}) const;

  ucx::Worker& worker_;
  GroupPlan plan_;
  std::uint32_t number_;
  bool open_ = false;
  std::map<std::uint32_t, Member> members_;  ///< by worker
  Member parent_;
  bool said_hello_ = false, parent_met_ = false;
  SumSlots slots_;
  std::vector<std::uint64_t> narrow_, widened_;  ///< of one message
  GroupCounters counters_;
};

}  // namespace cohom::offload
