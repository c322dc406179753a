#include "aggregation/server/sum_slots.hpp"

#include "aggregation/protocol/merge_code.hpp"

#include <bit>
#include <cstring>
#include <utility>

namespace cohom::offload {

SharedWords WordsPool::take(std::size_t count) {
  // Those given out longest ago come first.
  for (std::size_t i = 0; i < all_.size(); ++i) {
    SharedWords& words = all_[next_];
    next_ = (next_ + 1) % all_.size();
    if (words.use_count() != 1) continue;
    words->resize(count);
    return words;
  }
  all_.push_back(std::make_shared<std::vector<std::uint64_t>>(count));
  return all_.back();
}

SumSlots::SumSlots(std::uint32_t slots, std::uint64_t members, bool leaf,
                   const kernels::KernelTable& kernels)
    : members_(members), leaf_(leaf), kernels_(kernels), slots_(slots) {}

bool SumSlots::same(const cohom_header& a, const cohom_header& b) {
  return a.call == b.call && a.round == b.round && a.reduction == b.reduction &&
         a.offset == b.offset && a.words == b.words && a.merge == b.merge;
}

SumSlots::Outcome SumSlots::contribute(const cohom_header& header,
                                       std::span<const std::byte> data) {
  Slot& slot = slots_[header.slot];
  if (header.use != slot.use) return {header.use < slot.use ? cohom_drop_old : cohom_drop_order};
  if (slot.whole) return {cohom_drop_old};
  const std::uint64_t bit = std::uint64_t{1} << header.worker;
  if ((slot.seen & bit) != 0) return {cohom_drop_old};
  if (slot.seen == 0)
    slot.identity = header;
  else if (!same(slot.identity, header))
    return {cohom_drop_mismatch};
  slot.seen |= bit;
  if (header.merge >= code_of_add_float)
    merge_in_order(slot, header.worker, data);
  else
    merge(slot, header.worker, data.data());
  if (slot.seen != members_) return {cohom_kept};
  slot.merged = 0;
  if (leaf_) {
    slot.passed_up = true;
    return {cohom_pass_up, std::exchange(slot.sum, nullptr)};
  }
  return finish(slot);
}

SumSlots::Outcome SumSlots::take_sum(const cohom_header& header, std::span<const std::byte> data) {
  Slot& slot = slots_[header.slot];
  if (header.use != slot.use || !slot.passed_up) return {cohom_drop_repeated_sum};
  if (!same(slot.identity, header)) return {cohom_drop_mismatch};
  slot.sum = copy(data);
  slot.passed_up = false;
  return finish(slot);
}

/// The sum is there; it goes once nothing of the one before is under way.
SumSlots::Outcome SumSlots::finish(Slot& slot) {
  if (slot.leaving == 0) return {cohom_spread, take_whole(slot)};
  slot.whole = true;
  ++late_sums_;
  return {cohom_kept};
}

SharedWords SumSlots::take_whole(Slot& slot) {
  ++slot.use;
  slot.seen = 0;
  slot.whole = false;
  return std::exchange(slot.sum, nullptr);
}

std::optional<SumSlots::LateSum> SumSlots::next_late_sum() {
  if (late_sums_ == 0) return std::nullopt;
  for (Slot& slot : slots_) {
    if (!slot.whole || slot.leaving != 0) continue;
    --late_sums_;
    return LateSum{slot.identity, take_whole(slot)};
  }
  return std::nullopt;
}

/// `words` are as many as the sum's, and may lie anywhere.
void SumSlots::merge(Slot& slot, std::uint32_t worker, const void* words) {
  const std::size_t bytes = 8u * slot.identity.words;
  if (slot.merged == 0) {
    slot.sum = copy({static_cast<const std::byte*>(words), bytes});
  } else {
    const void* const sources[] = {slot.sum->data(), words};
    kernels_.merge(*merge_of_code(slot.identity.merge), sources, 2, bytes, slot.sum->data());
  }
  slot.merged |= std::uint64_t{1} << worker;
}

void SumSlots::merge_in_order(Slot& slot, std::uint32_t worker, std::span<const std::byte> data) {
  const auto next = [&] {
    return static_cast<std::uint32_t>(std::countr_zero(members_ & ~slot.merged));
  };
  if (worker != next()) {
    slot.waiting.resize(static_cast<std::size_t>(std::bit_width(members_)));
    slot.waiting[worker] = copy(data);
    return;
  }
  merge(slot, worker, data.data());
  for (std::uint32_t w = next(); w < slot.waiting.size() && slot.waiting[w]; w = next())
    merge(slot, w, std::exchange(slot.waiting[w], nullptr)->data());
}

SharedWords SumSlots::copy(std::span<const std::byte> data) {
  SharedWords words = pool_.take(data.size() / 8);
  std::memcpy(words->data(), data.data(), data.size());
  return words;
}

}  // namespace cohom::offload
