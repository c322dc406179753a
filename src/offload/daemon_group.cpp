#include "offload/daemon_group.hpp"

#include "log.hpp"
#include "offload/hello.hpp"
#include "offload/merge_code.hpp"
#include "offload/narrow.hpp"

#include <cohom/error.hpp>

#include <spdlog/spdlog.h>

#include <cstring>
#include <random>
#include <utility>

namespace cohom::offload {

namespace {

/// The codecs' own kernels do what is asked here of them: those of thc for lanes of any kind, those of the
/// signs for single bits.
void widen(const Widening& widening, std::size_t values, const std::uint64_t* words,
           std::uint64_t* wide) {
  const kernels::KernelTable& kernels = kernels::kernel_table();
  if (widening.narrow_width == 1 && !widening.has_levels && widening.block == kernels::sign_block &&
      widening.wide_width <= 16)
    return kernels.sign.count({1, widening.wide_width}, {ElementType::f32, 0, values}, &words, 1,
                              wide);
  kernels::ThcFormat format;
  format.rotation = widening.block;
  format.table = widening.has_levels;
  format.narrow_width = widening.narrow_width;
  format.wide_width = widening.wide_width;
  if (widening.has_levels) format.levels.assign(widening.levels.begin(), widening.levels.end());
  kernels.thc.widen(format, {ElementType::f32, 0, values}, &words, 1, wide);
}

std::uint64_t random_key() {
  std::random_device random;
  return std::uint64_t{random()} << 32 | random();
}

}  // namespace

DaemonGroup::DaemonGroup(ucx::Worker& worker, const GroupPlan& plan, std::uint32_t number)
    : worker_(worker),
      plan_(plan),
      number_(number),
      slots_(plan.slots, plan.members, plan.parent.has_value(), kernels::kernel_table()) {
  if (!plan.parent) return;
  parent_.key = random_key();
  parent_.group = plan.parent->number;
  parent_.link =
      std::make_unique<ucx::MessageLink>(worker, ucx::from_hex(plan.parent->data_address));
}

bool DaemonGroup::meet_parent() {
  if (said_hello_) return parent_met_;
  said_hello_ = true;
  const ucx::MessageHeader hello{
      make_hello(plan_.job, parent_.group, plan_.epoch, plan_.parent->worker, number_),
      parent_.key};
  const auto address = std::make_shared<const std::vector<std::byte>>(worker_.address());
  parent_.link->send(hello, *address, address);
  return parent_met_;
}

cohom_verdict DaemonGroup::take(const ucx::MessageHeader& header, std::span<const std::byte> data) {
  switch (header.packet.kind) {
    case cohom_hello: return take_hello(header, data);
    case cohom_contribution: return take_contribution(header, data);
    case cohom_waiting: {
      const Member* const member = member_of(header);
      if (member == nullptr) return cohom_drop_source;
      send(header.packet.worker, *member, header.packet, cohom_waiting);
      return cohom_told_waiting;
    }
    default: return take_from_parent(header, data);
  }
}

/// The member that a message says it is from; null when it is not.
DaemonGroup::Member* DaemonGroup::member_of(const ucx::MessageHeader& header) {
  const auto found = members_.find(header.packet.worker);
  const bool right =
      found != members_.end() && found->second.link && found->second.key == header.key;
  return right ? &found->second : nullptr;
}

bool DaemonGroup::is_from_parent(const ucx::MessageHeader& header) const {
  return plan_.parent && header.key == parent_.key && header.packet.worker == plan_.parent->worker;
}

/// The first hello of a worker counts.
cohom_verdict DaemonGroup::take_hello(const ucx::MessageHeader& header,
                                      std::span<const std::byte> data) {
  const std::uint32_t worker = header.packet.worker;
  if (worker >= cohom_most_workers || (plan_.members >> worker & 1) == 0) return cohom_drop_worker;
  if (open_ || members_.contains(worker)) return cohom_drop_source;
  members_[worker] = {.key = header.key,
                      .group = static_cast<std::uint32_t>(header.packet.call),
                      .address = {data.begin(), data.end()},
                      .link = {}};
  return cohom_greeted;
}

void DaemonGroup::greet() {
  for (auto& [worker, member] : members_) {
    if (member.address.empty()) continue;
    try {
      const auto address = std::exchange(member.address, {});
      member.link = std::make_unique<ucx::MessageLink>(worker_, address);
      log().info("job {:x}: worker {} is reached by {}", plan_.job, worker,
                 member.link->path_text());
      cohom_header answer{};
      answer.magic = cohom_magic;
      answer.version = cohom_packet_version;
      answer.job = plan_.job;
      answer.epoch = plan_.epoch;
      send(worker, member, answer, cohom_hello_answer);
    } catch (const Error& error) {
      // Its group does not form, and says so.
      log().warn("worker {} cannot be reached: {}", worker, error.what());
    }
  }
}

cohom_verdict DaemonGroup::check_words(const cohom_header& packet, std::size_t bytes) const {
  if (packet.slot >= plan_.slots || packet.parity != (packet.use & 1)) return cohom_drop_slot;
  if (packet.words == 0 || 8u * packet.words > plan_.payload_bytes || bytes != 8u * packet.words)
    return cohom_drop_size;
  const bool known = merge_of_code(packet.merge).has_value();
  const bool here = packet.merge < code_of_add_float || !plan_.parent;
  return known && here ? cohom_fine : cohom_drop_merge;
}

cohom_verdict DaemonGroup::take_contribution(const ucx::MessageHeader& header,
                                             std::span<const std::byte> data) {
  if (!open_ || member_of(header) == nullptr) return cohom_drop_source;
  if (const auto verdict = check_words(header.packet, data.size()); verdict != cohom_fine)
    return verdict;
  return merge(header.packet, data);
}

cohom_verdict DaemonGroup::take_narrow(const ucx::MessageHeader& header, const Widening& widening,
                                       std::span<const std::byte> data) {
  const cohom_header& packet = header.packet;
  if (packet.kind != cohom_contribution || packet.merge != cohom_merge_add || !is_right(widening))
    return cohom_drop_malformed;
  if (!open_ || member_of(header) == nullptr) return cohom_drop_source;
  if (const auto verdict = check_words(packet, 8u * packet.words); verdict != cohom_fine)
    return verdict;
  const auto values = values_of(widening, packet.words, data.size() / 8);
  if (!values || data.size() % 8 != 0) return cohom_drop_size;
  widened_.resize(packet.words);
  // Kernels read aligned words, and a message may begin anywhere.
  narrow_.resize(data.size() / 8);
  std::memcpy(narrow_.data(), data.data(), data.size());
  widen(widening, *values, narrow_.data(), widened_.data());
  return merge(packet, std::as_bytes(std::span(widened_)));
}

cohom_verdict DaemonGroup::merge(const cohom_header& packet, std::span<const std::byte> data) {
  const auto outcome = slots_.contribute(packet, data);
  counters_.contributions += outcome.verdict <= cohom_pass_up;
  if (outcome.verdict == cohom_spread) spread(packet, outcome.words);
  if (outcome.verdict == cohom_pass_up) pass_up(packet, outcome.words);
  return outcome.verdict;
}

cohom_verdict DaemonGroup::take_from_parent(const ucx::MessageHeader& header,
                                            std::span<const std::byte> data) {
  if (!is_from_parent(header)) return cohom_drop_source;
  if (header.packet.kind == cohom_hello_answer) {
    parent_met_ = true;
    return cohom_parent_learnt;
  }
  if (const auto verdict = check_words(header.packet, data.size()); verdict != cohom_fine)
    return verdict;
  const auto outcome = slots_.take_sum(header.packet, data);
  if (outcome.verdict == cohom_spread) spread(header.packet, outcome.words);
  return outcome.verdict;
}

void DaemonGroup::spread(const cohom_header& packet, const SharedWords& words) {
  ++counters_.sums;
  for (const auto& [worker, member] : members_) send(worker, member, packet, cohom_sum, words);
}

void DaemonGroup::pass_up(const cohom_header& packet, const SharedWords& words) {
  send(plan_.parent->worker, parent_, packet, cohom_contribution, words);
}

void DaemonGroup::send(std::uint32_t worker, const Member& member, cohom_header packet,
                       std::uint8_t kind, const SharedWords& words) const {
  packet.kind = kind;
  packet.worker = static_cast<__u16>(worker);
  packet.group = member.group;
  const auto data = words ? std::as_bytes(std::span(*words)) : std::span<const std::byte>{};
  member.link->send({packet, member.key}, data, words);
}

}  // namespace cohom::offload
