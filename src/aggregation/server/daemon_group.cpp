#include "aggregation/server/daemon_group.hpp"

#include "aggregation/protocol/check.h"
#include "aggregation/protocol/hello.hpp"
#include "aggregation/protocol/narrow.hpp"
#include "base/log.hpp"

#include <cohom/error.hpp>

#include <spdlog/spdlog.h>

#include <cstring>
#include <utility>

namespace cohom::offload {

namespace {

/// The codecs' own kernels do what is asked here of them: those of thc for lanes of any kind, those
/// of the signs for single bits.
void promote(const Promotion& promotion, std::size_t values, const std::uint64_t* words,
             std::uint64_t* wide) {
  const kernels::KernelTable& kernels = kernels::kernel_table();
  if (promotion.narrow_width == 1 && !promotion.has_levels &&
      promotion.block == kernels::sign_block && promotion.wide_width <= 16)
    return kernels.sign.count({1, promotion.wide_width}, {ElementType::f32, 0, values}, &words, 1,
                              wide);
  kernels::ThcFormat format;
  format.rotation = promotion.block;
  format.table = promotion.has_levels;
  format.narrow_width = promotion.narrow_width;
  format.wide_width = promotion.wide_width;
  if (promotion.has_levels) format.levels.assign(promotion.levels.begin(), promotion.levels.end());
  kernels.thc.promote(format, {ElementType::f32, 0, values}, &words, 1, wide);
}

/// Messages that may wait for a member besides the sums of its slots.
constexpr std::uint32_t max_answers = 64;

/// Contributions of a member that come before their time, until it is dropped for them.
constexpr std::uint32_t max_out_of_turn = 1024;

}  // namespace

DaemonGroup::DaemonGroup(ucx::Worker& worker, const GroupPlan& plan, std::uint32_t number,
                         LogBudget& notes)
    : worker_(worker),
      notes_(notes),
      plan_(plan),
      number_(number),
      slots_(plan.slots, bits_of(plan.members), plan.parent.has_value(), kernels::kernel_table()),
      who_(workers_of(plan.members)),
      members_(plan.members.size()) {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    members_[i].worker = plan.members[i].worker;
    members_[i].key = plan.members[i].key;
  }
  if (!plan.parent) return;
  parent_.worker = plan.parent->worker;
  parent_.key = plan.parent->key;
  parent_.group = plan.parent->number;
}

void DaemonGroup::take_parent_address(std::span<const std::byte> address) {
  parent_.address.assign(address.begin(), address.end());
}

bool DaemonGroup::meet_parent() {
  if (failed() || parent_.said_hello || parent_.address.empty()) return parent_met_;
  parent_.said_hello = true;
  try {
    parent_.link = std::make_unique<ucx::MessageLink>(worker_, parent_.address);
    parent_.link->send(make_hello({.job = plan_.job,
                                   .epoch = plan_.epoch,
                                   .key = parent_.key,
                                   .group = parent_.group,
                                   .worker = plan_.parent->worker,
                                   .own_group = number_}),
                       {});
  } catch (const Error& error) {
    fail(std::string("the parent cannot be reached: ") + error.what());
  }
  return parent_met_;
}

cohom_verdict DaemonGroup::take(const cohom_header& header, std::span<const std::byte> data) {
  switch (header.kind) {
    case cohom_hello: return take_hello(header, data);
    case cohom_contribution: return take_contribution(header, data);
    case cohom_waiting: {
      if (const auto verdict = check_member(header); verdict != cohom_fine) return verdict;
      send(members_[member_of(header.worker)], header, cohom_waiting);
      return cohom_told_waiting;
    }
    default: return take_from_parent(header, data);
  }
}

/// Whether a message is from the member that it names.
cohom_verdict DaemonGroup::check_key(const cohom_header& header) const {
  const std::uint32_t member = member_of(header.worker);
  return cohom_check_member(&header, member, member < members_.size() ? members_[member].key : 0);
}

/// Whether that member is connected, too.
cohom_verdict DaemonGroup::check_member(const cohom_header& header) const {
  if (const auto verdict = check_key(header); verdict != cohom_fine) return verdict;
  return members_[member_of(header.worker)].link ? cohom_fine : cohom_drop_source;
}

cohom_verdict DaemonGroup::check_parent(const cohom_header& header) const {
  const bool is_leaf = plan_.parent.has_value();
  return cohom_check_parent(&header, is_leaf, is_leaf ? plan_.parent->worker : 0, parent_.key);
}

bool DaemonGroup::expect_address(std::uint32_t worker) {
  const std::uint32_t member = member_of(worker);
  return !started_ && member < members_.size() &&
         !std::exchange(members_[member].said_address, true);
}

void DaemonGroup::take_address(std::uint32_t worker, std::span<const std::byte> address) {
  members_.at(member_of(worker)).address.assign(address.begin(), address.end());
}

/// The first hello of a member counts.
cohom_verdict DaemonGroup::take_hello(const cohom_header& header, std::span<const std::byte> data) {
  if (const auto verdict = check_key(header); verdict != cohom_fine) return verdict;
  Member& member = members_[member_of(header.worker)];
  if (started_ || member.said_hello) return cohom_drop_source;
  if (!data.empty()) return cohom_drop_size;
  member.said_hello = true;
  member.group = static_cast<std::uint32_t>(header.call);
  return cohom_hello_answered;
}

void DaemonGroup::answer_hellos() {
  for (Member& member : members_) {
    if (member.address.empty() || !member.said_hello || member.link) continue;
    try {
      member.link = std::make_unique<ucx::MessageLink>(worker_, member.address);
      note_path(member);
      cohom_header answer{};
      answer.magic = cohom_magic;
      answer.version = cohom_packet_version;
      answer.job = plan_.job;
      answer.epoch = plan_.epoch;
      send(member, answer, cohom_hello_answer);
    } catch (const Error& error) {
      fail("worker " + std::to_string(member.worker) + " cannot be reached: " + error.what());
    }
  }
}

void DaemonGroup::note_path(const Member& member) {
  if (!log().should_log(spdlog::level::info)) return;
  if (const auto more = notes_.take(LogBudget::Clock::now()))
    log().info("job {}: worker {} is reached by {}{}", plan_.job, member.worker,
               member.link->path_text(), *more);
}

std::uint64_t DaemonGroup::met() const {
  std::uint64_t bits = 0;
  for (std::uint32_t member = 0; member < members_.size(); ++member)
    if (members_[member].link) bits |= cohom_bit_of(member);
  return bits;
}

/// Floats that leaves had summed would not be added in the order of workers.
cohom_verdict DaemonGroup::check_words(const cohom_header& packet, std::size_t bytes) const {
  const cohom_extent extent{
      .slots = plan_.slots, .payload_words = plan_.payload_bytes / 8, .adds_floats = !plan_.parent};
  return cohom_check_words(&packet, extent, bytes);
}

cohom_verdict DaemonGroup::take_contribution(const cohom_header& header,
                                             std::span<const std::byte> data) {
  if (const auto verdict = check_member(header); verdict != cohom_fine) return verdict;
  if (!started_) return cohom_drop_source;
  if (const auto verdict = check_words(header, data.size()); verdict != cohom_fine) return verdict;
  return merge(header, data);
}

cohom_verdict DaemonGroup::take_narrow(const cohom_header& header, const Promotion& promotion,
                                       std::span<const std::byte> data) {
  if (header.kind != cohom_contribution || header.merge != cohom_merge_add || !is_right(promotion))
    return cohom_drop_malformed;
  if (const auto verdict = check_member(header); verdict != cohom_fine) return verdict;
  if (!started_) return cohom_drop_source;
  if (const auto verdict = check_words(header, 8u * header.words); verdict != cohom_fine)
    return verdict;
  const auto values = values_of(promotion, header.words, data.size() / 8);
  if (!values || data.size() % 8 != 0) return cohom_drop_size;
  promoted_.resize(header.words);
  // Kernels read aligned words, and a message may begin anywhere.
  narrow_.resize(data.size() / 8);
  std::memcpy(narrow_.data(), data.data(), data.size());
  promote(promotion, *values, narrow_.data(), promoted_.data());
  return merge(header, std::as_bytes(std::span(promoted_)));
}

cohom_verdict DaemonGroup::merge(const cohom_header& packet, std::span<const std::byte> data) {
  const std::uint32_t member = member_of(packet.worker);
  const auto outcome = slots_.contribute(packet, member, data);
  counters_.contributions += cohom_is_merged(outcome.verdict);
  if (outcome.verdict == cohom_drop_order) count_out_of_turn(members_[member]);
  if (outcome.verdict == cohom_multicast) multicast(packet, outcome.words);
  if (outcome.verdict == cohom_forward) forward(packet, outcome.words);
  return outcome.verdict;
}

/// Nobody has the sum before, so nobody can be that far: such a worker does not take its sums.
void DaemonGroup::count_out_of_turn(Member& member) {
  if (++member.out_of_turn > max_out_of_turn)
    fail("worker " + std::to_string(member.worker) +
         " contributes on and on without taking its sums, and was dropped");
}

cohom_verdict DaemonGroup::take_from_parent(const cohom_header& header,
                                            std::span<const std::byte> data) {
  if (const auto verdict = check_parent(header); verdict != cohom_fine) return verdict;
  if (header.kind == cohom_hello_answer) {
    parent_met_ = true;
    return cohom_parent_learnt;
  }
  if (const auto verdict = check_words(header, data.size()); verdict != cohom_fine) return verdict;
  const auto outcome = slots_.take_sum(header, data);
  if (outcome.verdict == cohom_multicast) multicast(header, outcome.words);
  return outcome.verdict;
}

void DaemonGroup::multicast(const cohom_header& packet, const SharedWords& words) {
  ++counters_.sums;
  for (const Member& member : members_)
    send(member, packet, cohom_sum, words, slots_.leaving(packet.slot));
}

bool DaemonGroup::multicast_waiting_sums() {
  while (const auto waiting = slots_.next_waiting_sum()) multicast(waiting->header, waiting->words);
  return slots_.has_waiting_sums();
}

void DaemonGroup::forward(const cohom_header& packet, const SharedWords& words) {
  send(parent_, packet, cohom_contribution, words);
}

/// Sums are bounded by their slots; what else is sent answers the member's questions.
void DaemonGroup::send(const Member& member, cohom_header packet, std::uint8_t kind,
                       const SharedWords& words, std::size_t* leaving) {
  if (!member.link)
    return fail("worker " + std::to_string(member.worker) +
                " is to get a message, and is not connected");
  if (member.link->queued_messages() >= plan_.slots + max_answers)
    return fail("worker " + std::to_string(member.worker) + " does not take what is sent to it: " +
                std::to_string(member.link->queued_messages()) + " messages and " +
                std::to_string(member.link->queued_bytes()) + " bytes wait; it was dropped");
  packet.kind = kind;
  packet.worker = static_cast<__u16>(member.worker);
  packet.group = static_cast<__u16>(member.group);
  packet.key = member.key;
  const auto data = words ? std::as_bytes(std::span(*words)) : std::span<const std::byte>{};
  member.link->send(packet, data, words, leaving);
}

void DaemonGroup::fail(const std::string& reason) {
  started_ = false;
  if (failure_.empty()) failure_ = reason;
}

std::string DaemonGroup::failure() const {
  return no_memory_ ? "the aggregator has no memory for the group" : failure_;
}

}  // namespace cohom::offload
