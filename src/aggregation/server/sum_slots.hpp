#pragma once
// SumSlots: one group's slots at a daemon, in which contributions meet. Words come in order and
// once, so a slot holds two sums at most: the one being made and the one being sent. A sum that is
// there before the one before it has left waits for that, and until then the slot takes nothing:
// whoever contributes without taking sums fills no memory.

#include "aggregation/protocol/slot.h"
#include "kernels/table/kernel_table.hpp"

#include <cohom/merge.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace cohom::offload {

using SharedWords = std::shared_ptr<std::vector<std::uint64_t>>;

/// Gives out words, and gives them out again when nobody holds them any more. For one thread at a
/// time.
class WordsPool {
 public:
  SharedWords take(std::size_t count);

 private:
  std::vector<SharedWords> all_;
  std::size_t next_ = 0;
};

class SumSlots {
 public:
  /// `members` has the bits of all. A leaf's sums go to its parent first.
  SumSlots(std::uint32_t slots, std::uint64_t members, bool leaf,
           const kernels::KernelTable& kernels);

  struct Outcome {
    cohom_verdict verdict;
    SharedWords words =
        {};  ///< of cohom_multicast and cohom_forward; whole, to be sent and not changed
  };
  /// A member's contribution whose header is right (check.h). Floats are added in the order of
  /// members, which is that of workers, whatever the order in which they come: the earlier ones
  /// wait for nobody, the later ones are kept.
  Outcome contribute(const cohom_header& header, std::uint32_t member,
                     std::span<const std::byte> data);
  /// The parent's sum.
  Outcome take_sum(const cohom_header& header, std::span<const std::byte> data);

  /// How many sends of the slot's last sum are under way: the senders count. Stays where it is.
  [[nodiscard]] std::size_t* leaving(std::uint32_t slot) { return &slots_[slot].leaving; }
  /// Whether a sum waits for the one before it to leave.
  [[nodiscard]] bool has_waiting_sums() const { return waiting_sums_ != 0; }
  struct WaitingSum {
    cohom_header header;
    SharedWords words;
  };
  /// One that waited and may go now.
  std::optional<WaitingSum> next_waiting_sum();

 private:
  struct Slot {
    cohom_slot_use use{};
    SharedWords sum;
    std::uint64_t merged = 0;          ///< those whose words are in the sum
    std::vector<SharedWords> waiting;  ///< by member: floats whose turn has not come
    std::size_t leaving = 0;           ///< sends of the last sum that left
    cohom_header held{};               ///< with which the sum goes that waits for that one to leave
  };

  void merge(Slot& slot, std::uint32_t member, const void* words);
  void merge_in_order(Slot& slot, std::uint32_t member, std::span<const std::byte> data);
  SharedWords copy(std::span<const std::byte> data);
  Outcome complete(Slot& slot, const cohom_header& header);

  std::uint64_t members_;
  bool leaf_;
  const kernels::KernelTable& kernels_;
  WordsPool pool_;
  std::vector<Slot> slots_;
  std::uint32_t waiting_sums_ = 0;  ///< slots that hold a sum
};

}  // namespace cohom::offload
