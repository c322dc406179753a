#include "aggregation/server/group_table.hpp"

#include "aggregation/net/random_word.hpp"
#include "aggregation/protocol/hello.hpp"

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
T load(const T& field) {
  return std::atomic_ref(const_cast<T&>(field)).load(std::memory_order_acquire);
}

/// All that an answer of the parent must be right in.
void enter_parent(cohom_group& group, const ParentPlan& plan, const sockaddr_in& address) {
  group.parent.is_there = 1;
  group.parent.nonce = random_word();
  group.parent.worker = static_cast<__u16>(plan.worker);
  group.parent.endpoint.key = plan.key;
  group.parent.endpoint.group = plan.number;
  group.parent.endpoint.address = address.sin_addr.s_addr;
  group.parent.endpoint.port = address.sin_port;
}

}  // namespace

GroupTable::GroupTable(std::span<cohom_group> groups, std::uint32_t slots)
    : groups_(groups), closed_(groups.size()), slots_(slots), ranges_(slots, rest) {}

std::optional<std::uint32_t> GroupTable::add_group(const GroupPlan& plan,
                                                   const sockaddr_in& parent) {
  const auto now = Clock::now();
  for (std::uint32_t number = 0; number < groups_.size(); ++number) {
    cohom_group& group = groups_[number];
    if (group.epoch != 0 || (closed_[number] && now - *closed_[number] < rest)) continue;
    const auto first = ranges_.take(plan.slots, now);
    if (!first) return std::nullopt;
    group = {};
    group.job = plan.job;
    group.members = bits_of(plan.members);
    group.first_slot = *first;
    group.slots = plan.slots;
    group.payload_words = plan.payload_bytes / 8;
    group.who = workers_of(plan.members);
    for (std::size_t member = 0; member < plan.members.size(); ++member)
      group.endpoints[member].key = plan.members[member].key;
    if (plan.parent) enter_parent(group, *plan.parent, parent);
    publish(group.epoch, __u64{plan.epoch});
    return number;
  }
  return std::nullopt;
}

void GroupTable::start(std::uint32_t number) { publish(groups_[number].started, 1u); }

void GroupTable::close(std::uint32_t number) {
  publish(groups_[number].epoch, __u64{0});
  publish(groups_[number].started, 0u);
  ranges_.give_back(groups_[number].first_slot, Clock::now());
  closed_[number] = Clock::now();
}

bool GroupTable::parent_known(std::uint32_t number) const {
  return load(groups_[number].parent.known) != 0;
}

cohom_header GroupTable::hello_to_parent(std::uint32_t number) const {
  const cohom_group& group = groups_[number];
  return make_hello({.job = group.job,
                     .epoch = group.epoch,
                     .key = group.parent.endpoint.key,
                     .group = group.parent.endpoint.group,
                     .worker = group.parent.worker,
                     .own_group = number,
                     .nonce = group.parent.nonce});
}

std::uint64_t GroupTable::met(std::uint32_t number) const { return load(groups_[number].known); }

GroupCounters GroupTable::counters(std::uint32_t number) const {
  return {load(groups_[number].contributions), load(groups_[number].sums)};
}

}  // namespace cohom::offload
