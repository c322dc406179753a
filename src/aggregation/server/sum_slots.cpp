#include "aggregation/server/sum_slots.hpp"

#include "aggregation/protocol/merge_code.hpp"

#include <bit>
#include <cstring>
#include <utility>

namespace cohom::offload {

namespace {

/// Of a slot: nobody asks for a sum again.
constexpr std::uint32_t kept_uses = 1;

}  // namespace

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

SumSlots::Outcome SumSlots::contribute(const cohom_header& header, std::uint32_t member,
                                       std::span<const std::byte> data) {
  Slot& slot = slots_[header.slot];
  const cohom_verdict admitted = cohom_admit(&slot.use, &slot.use, kept_uses, &header, member);
  if (cohom_is_repeat(admitted)) return {cohom_drop_old};  // no message comes twice
  if (admitted != cohom_fine) return {admitted};
  if (header.merge >= cohom_merge_add_float)
    merge_in_order(slot, member, data);
  else
    merge(slot, member, data.data());
  const cohom_verdict verdict = cohom_count(&slot.use, member, members_, leaf_);
  if (verdict == cohom_kept) return {verdict};
  slot.merged = 0;
  if (verdict == cohom_forward) return {verdict, std::exchange(slot.sum, nullptr)};
  return complete(slot, header);
}

SumSlots::Outcome SumSlots::take_sum(const cohom_header& header, std::span<const std::byte> data) {
  Slot& slot = slots_[header.slot];
  const cohom_verdict verdict = cohom_take_sum(&slot.use, &header);
  if (verdict != cohom_multicast) return {verdict};
  slot.sum = copy(data);
  return complete(slot, header);
}

/// The sum is there; it goes once nothing of the one before is under way.
SumSlots::Outcome SumSlots::complete(Slot& slot, const cohom_header& header) {
  if (slot.leaving == 0) return {cohom_multicast, std::exchange(slot.sum, nullptr)};
  slot.use.state = cohom_sum_held;
  slot.held = header;
  ++waiting_sums_;
  return {cohom_kept};
}

std::optional<SumSlots::WaitingSum> SumSlots::next_waiting_sum() {
  if (waiting_sums_ == 0) return std::nullopt;
  for (Slot& slot : slots_) {
    if (slot.use.state != cohom_sum_held || slot.leaving != 0) continue;
    slot.use.state = cohom_sum_done;
    --waiting_sums_;
    return WaitingSum{slot.held, std::exchange(slot.sum, nullptr)};
  }
  return std::nullopt;
}

/// `words` are as many as the sum's, and may lie anywhere.
void SumSlots::merge(Slot& slot, std::uint32_t member, const void* words) {
  const std::size_t bytes = 8u * slot.use.identity.words;
  if (slot.merged == 0) {
    slot.sum = copy({static_cast<const std::byte*>(words), bytes});
  } else {
    const void* const sources[] = {slot.sum->data(), words};
    kernels_.merge(*merge_of_code(slot.use.identity.merge), sources, 2, bytes, slot.sum->data());
  }
  slot.merged |= cohom_bit_of(member);
}

void SumSlots::merge_in_order(Slot& slot, std::uint32_t member, std::span<const std::byte> data) {
  const auto next = [&] {
    return static_cast<std::uint32_t>(std::countr_zero(members_ & ~slot.merged));
  };
  if (member != next()) {
    slot.waiting.resize(static_cast<std::size_t>(std::bit_width(members_)));
    slot.waiting[member] = copy(data);
    return;
  }
  merge(slot, member, data.data());
  for (std::uint32_t m = next(); m < slot.waiting.size() && slot.waiting[m]; m = next())
    merge(slot, m, std::exchange(slot.waiting[m], nullptr)->data());
}

SharedWords SumSlots::copy(std::span<const std::byte> data) {
  SharedWords words = pool_.take(data.size() / 8);
  std::memcpy(words->data(), data.data(), data.size());
  return words;
}

}  // namespace cohom::offload
