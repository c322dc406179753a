#include "offload/group_table.hpp"

#include <atomic>

namespace cohom::offload {

namespace {

/// Longer than a packet can be at work in the program.
constexpr std::chrono::seconds rest{1};

/// The program reads these while they are written; they say whether the others count.
template <class T>
void publish(T& field, T value) {
  std::atomic_ref(field).store(value, std::memory_order_release);
}

template <class T>
T look_at(const T& field) {
  return std::atomic_ref(const_cast<T&>(field)).load(std::memory_order_acquire);
}

}  // namespace

GroupTable::GroupTable(std::span<cohom_group> groups, std::uint32_t slots)
    : groups_(groups), closed_(groups.size()), slots_(slots), ranges_(slots, rest) {}

std::optional<std::uint32_t> GroupTable::open(const GroupPlan& plan) {
  const auto now = Clock::now();
  for (std::uint32_t number = 0; number < groups_.size(); ++number) {
    cohom_group& group = groups_[number];
    if (group.epoch != 0 || (closed_[number] && now - *closed_[number] < rest)) continue;
    const auto first = ranges_.take(plan.slots, now);
    if (!first) return std::nullopt;
    group = {};
    group.job = plan.job;
    group.members = plan.members;
    group.first_slot = *first;
    group.slots = plan.slots;
    group.payload_words = plan.payload_bytes / 8;
    group.has_parent = plan.parent ? 1 : 0;
    group.parent_group = plan.parent ? plan.parent->number : 0;
    group.parent_worker = static_cast<__u16>(plan.parent ? plan.parent->worker : 0);
    publish(group.epoch, plan.epoch);
    return number;
  }
  return std::nullopt;
}

void GroupTable::start(std::uint32_t number) { publish(groups_[number].open, 1u); }

void GroupTable::close(std::uint32_t number) {
  publish(groups_[number].epoch, 0u);
  publish(groups_[number].open, 0u);
  ranges_.give_back(groups_[number].first_slot, Clock::now());
  closed_[number] = Clock::now();
}

bool GroupTable::parent_known(std::uint32_t number) const {
  return look_at(groups_[number].parent_known) != 0;
}

GroupCounters GroupTable::counters(std::uint32_t number) const {
  return {look_at(groups_[number].contributions), look_at(groups_[number].sums)};
}

}  // namespace cohom::offload
