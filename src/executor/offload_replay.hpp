#pragma once
// OffloadReplay: a round's reductions at the aggregator, and what is kept so that the ranks can sum
// them once more when the aggregator fails.

#include "codecs/common/round.hpp"
#include "executor/data_flow.hpp"
#include "executor/payload_locations.hpp"
#include "executor/round_layout.hpp"
#include "memory/memory.hpp"

#include <cohom/offload.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace cohom {

class OffloadReplay {
 public:
  /// What is referred to outlives it.
  OffloadReplay(Round& round, Memory& memory, const RoundLayout& layout,
                const PayloadLocations& locations, DataFlow& flow);
  OffloadReplay(const OffloadReplay&) = delete;
  OffloadReplay& operator=(const OffloadReplay&) = delete;

  /// Reductions that one call starts.
  [[nodiscard]] std::size_t reductions() const;
  /// Words of the longest.
  [[nodiscard]] std::size_t longest() const { return layout_.longest_unit(Form::wide); }

  /// `promotion`: how the aggregator promotes contributions, which are narrow then.
  void begin(const std::optional<Promotion>& promotion);
  void set_reduction(Reduction* reduction) { reduction_ = reduction; }

  /// The form in which contributions are encoded.
  [[nodiscard]] Form form_of_contribution(const Slot& slot) const {
    return promotion_ ? Form::narrow : slot.form;
  }
  /// Starts the task's reduction, whose completion has this cookie.
  void start(const Task& task, std::uint64_t cookie);
  /// Its sum is there. False: it was there before, and others lacked it.
  bool take_sum(const Task& task);
  /// Whether all sums are there.
  [[nodiscard]] bool summed() const { return sums_left_ == 0; }
  /// Words of contributions that were given to the first reduction of the call.
  [[nodiscard]] std::size_t words_handed_over() const { return words_handed_over_; }

  /// From now on `reduction` sums. Tasks of `step` begin again up to `units`, also those that are
  /// complete here, because other ranks still need this rank's contributions.
  void repeat_by(Reduction& reduction);
  void reopen(std::uint32_t step, std::size_t units);

 private:
  [[nodiscard]] const Step& step_of(const Task& task) const {
    return layout_.schedule().steps[task.step];
  }
  ConstPayload promote_own(const Task& task, ConstPayload narrow);

  Round& round_;
  Memory& memory_;
  const RoundLayout& layout_;
  const PayloadLocations& locations_;
  DataFlow& flow_;
  MemoryArray<std::uint64_t> promoted_;  ///< of one unit

  // Of the call in flight.
  std::optional<Promotion> promotion_;
  Reduction* reduction_ = nullptr;
  std::vector<bool> summed_;  ///< by task: a reduction that is complete
  std::size_t sums_left_ = 0;
  std::size_t words_handed_over_ = 0;
  bool repeating_ = false;
};

}  // namespace cohom
