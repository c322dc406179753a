#pragma once
// DaemonGroup: a group at a daemon: who contributes, to whom sums go, and what is right to come.

#include "aggregation/server/data_plane.hpp"
#include "aggregation/server/log_budget.hpp"
#include "aggregation/server/sum_slots.hpp"
#include "ucx_transport/message_link.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cohom::offload {

/// What comes may be anything; everything is checked before any word is touched. Every function
/// wants the worker's lock.
class DaemonGroup {
 public:
  /// `number` is the daemon's own for the group. `notes` are of all of its groups.
  DaemonGroup(ucx::Worker& worker, const GroupPlan& plan, std::uint32_t number, LogBudget& notes);

  [[nodiscard]] const GroupPlan& plan() const { return plan_; }
  [[nodiscard]] const GroupCounters& counters() const { return counters_; }

  /// Says hello to the parent, once it is known where that is; whether it has answered. The group
  /// fails where UCX cannot reach it.
  bool meet_parent();
  /// Once, and tried.
  void take_parent_address(std::span<const std::byte> address);
  /// Bits of the members that are reached.
  [[nodiscard]] std::uint64_t met() const;
  void start() { started_ = true; }

  /// Takes a message of a right form and number, and sends what follows from it.
  cohom_verdict take(const cohom_header& header, std::span<const std::byte> data);
  cohom_verdict take_narrow(const cohom_header& header, const Promotion& promotion,
                            std::span<const std::byte> data);
  /// A member will say where it is; false when it has done so before, or is no member.
  bool expect_address(std::uint32_t worker);
  /// What it said, which has been tried.
  void take_address(std::uint32_t worker, std::span<const std::byte> address);
  /// Connects to those that have said hello and where they are, and answers them.
  void answer_hellos();

  /// Sums that waited for those before them to leave; whether more of them wait.
  bool multicast_waiting_sums();
  [[nodiscard]] bool has_waiting_sums() const { return slots_.has_waiting_sums(); }

  /// The group cannot go on: whatever comes is dropped. The first reason stays.
  void fail(const std::string& reason);
  /// The same where not even a text can be had.
  void fail_for_memory() noexcept { no_memory_ = true, started_ = false; }
  [[nodiscard]] bool failed() const { return no_memory_ || !failure_.empty(); }
  /// Why.
  [[nodiscard]] std::string failure() const;

 private:
  /// A member, or the parent.
  struct Member {
    std::uint32_t worker = 0;  ///< of a member: who it is; of the parent: who this group is to it
    std::uint64_t key = 0;
    std::uint32_t group = 0;  ///< its own number for the group
    bool said_hello = false;
    bool said_address = false;
    std::uint32_t out_of_turn = 0;   ///< contributions for which it cannot have the sum before
    std::vector<std::byte> address;  ///< empty: not known, or not tried yet
    std::unique_ptr<ucx::MessageLink> link;  ///< null until its hello is answered
  };

  /// What cohom_member_of() says.
  [[nodiscard]] std::uint32_t member_of(std::uint32_t worker) const {
    return cohom_member_of(&who_, worker);
  }
  [[nodiscard]] cohom_verdict check_key(const cohom_header& header) const;
  [[nodiscard]] cohom_verdict check_member(const cohom_header& header) const;
  [[nodiscard]] cohom_verdict check_parent(const cohom_header& header) const;
  [[nodiscard]] cohom_verdict check_words(const cohom_header& packet, std::size_t bytes) const;
  cohom_verdict take_hello(const cohom_header& header, std::span<const std::byte> data);
  cohom_verdict take_contribution(const cohom_header& header, std::span<const std::byte> data);
  cohom_verdict merge(const cohom_header& packet, std::span<const std::byte> data);
  cohom_verdict take_from_parent(const cohom_header& header, std::span<const std::byte> data);
  void multicast(const cohom_header& packet, const SharedWords& words);
  void forward(const cohom_header& packet, const SharedWords& words);
  void count_out_of_turn(Member& member);
  void note_path(const Member& member);
  void send(const Member& member, cohom_header packet, std::uint8_t kind,
            const SharedWords& words = {}, std::size_t* leaving = nullptr);

  ucx::Worker& worker_;
  LogBudget& notes_;
  GroupPlan plan_;
  std::uint32_t number_;
  bool started_ = false;
  bool no_memory_ = false;
  std::string failure_;
  SumSlots slots_;  ///< before the links, which count what leaves it
  cohom_members who_;
  std::vector<Member> members_;  ///< by number
  Member parent_;
  bool parent_met_ = false;
  std::vector<std::uint64_t> narrow_, promoted_;  ///< of one message
  GroupCounters counters_;
};

}  // namespace cohom::offload
