// libFuzzer target: hellos and words for a group of a daemon, right and wrong ones, and members
// that take their sums as late as they like. Who lacks a member's key is counted, sent nothing and
// changes no sum; the sums that leave are those of the contributions that were taken, once to each
// member; and what the group holds stays within what docs/aggregator.md says. See scripts/fuzz.

#include "daemon_oracle.hpp"
#include "fuzz_input.hpp"
#include "held_links.hpp"
#include "require.hpp"

#include "aggregation/protocol/check.h"
#include "aggregation/protocol/hello.hpp"
#include "aggregation/protocol/merge_code.hpp"
#include "aggregation/protocol/narrow.hpp"
#include "aggregation/server/daemon_group.hpp"
#include "aggregation/server/log_budget.hpp"

#include <sanitizer/allocator_interface.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <span>
#include <vector>

namespace {

using namespace cohom;
using namespace cohom::offload;
using fuzz::FuzzInput;
using fuzz::held_messages;
using fuzz::HeldMessage;
using fuzz::require;
using Words = fuzz::DaemonOracle::Words;

constexpr std::uint32_t workers[] = {0, 1, 700, 2};  // the last is no member
constexpr std::uint64_t members = 0b111;
constexpr std::uint32_t payload_bytes = 2048, slots = 2, number = 3;
constexpr std::uint32_t parent_worker = 5, parent_group = 9;
constexpr std::size_t max_queued = slots + 64;
constexpr int max_messages = 4096;

GroupPlan plan_of(bool leaf) {
  GroupPlan plan{.job = 70,
                 .epoch = 0x5000000000000005,
                 .members = {},
                 .slots = slots,
                 .payload_bytes = payload_bytes,
                 .parent = {}};
  for (const std::uint32_t worker : std::span(workers).first(3))
    plan.members.push_back({worker, 1000 + worker});
  if (leaf) {
    plan.parent = ParentPlan{};
    plan.parent->number = parent_group;
    plan.parent->worker = parent_worker;
    plan.parent->key = 5000;
  }
  return plan;
}

/// A group with members that are made up, and what must be true of it.
class Daemon {
 public:
  explicit Daemon(bool leaf) : group_(fuzz::no_worker(), plan_of(leaf), number, notes_) {}

  [[nodiscard]] const GroupPlan& plan() const { return group_.plan(); }
  [[nodiscard]] bool failed() const { return group_.failed(); }
  [[nodiscard]] bool over() const { return failed() || messages_ == max_messages; }

  /// What comes, if the plane would give it to this group.
  void take(const cohom_header& header, std::span<const std::byte> data,
            const Promotion* promotion = nullptr) {
    if (cohom_check_form(&header) != cohom_fine || header.job != plan().job ||
        header.epoch != plan().epoch || over())
      return;
    ++messages_;
    const cohom_verdict verdict = promotion != nullptr
                                      ? group_.take_narrow(header, *promotion, data)
                                      : group_.take(header, data);
    require(verdict >= 0 && verdict < cohom_verdicts);
    const bool dropped = verdict >= cohom_drop_malformed;
    require(knows_key(header) || (dropped && !failed()));
    require(!dropped || held_messages().size() == checked_);
    if (!dropped) learn(header, data, promotion != nullptr);
    if (verdict == cohom_hello_answered) group_.answer_hellos();
    check();
  }

  void say_address(std::uint32_t worker, std::byte first) {
    if (!group_.expect_address(worker)) return;
    group_.take_address(worker, std::vector{first, first});
    group_.answer_hellos();
    check();
  }
  void say_parent_address(std::byte first) {
    if (!plan().parent || said_parent_address_) return;
    said_parent_address_ = true;
    group_.take_parent_address(std::vector{first, first});
  }
  void meet_parent() {
    if (plan().parent) group_.meet_parent();
    check();
  }
  /// When the control server does: everybody is met.
  void start() {
    if (failed() || group_.met() != members) return;
    if (!plan().parent || group_.meet_parent()) group_.start();
    check();
  }

  void let_go_oldest() {
    if (held_messages().empty()) return;
    fuzz::let_go(held_messages().begin());
    --checked_;
  }
  void let_go_of(std::uint32_t worker) {
    auto& held = held_messages();
    for (auto i = held.begin(); i != held.end();) {
      const auto message = i++;
      if (message->header.worker != worker) continue;
      fuzz::let_go(message);
      --checked_;
    }
  }
  void multicast_waiting_sums() {
    if (failed()) return;
    group_.multicast_waiting_sums();
    check();
  }

  /// Everybody has taken everything; what is held then is all that the group ever needed.
  void finish(std::size_t bytes_before) {
    do {
      while (!held_messages().empty()) let_go_oldest();
      multicast_waiting_sums();
    } while (!held_messages().empty());
    if (failed())
      require(!group_.failure().empty());
    else
      require(!group_.has_waiting_sums() && oracle_->all_sent());
    require(group_.counters().contributions == contributions_);
    oracle_.reset();
    const std::size_t waiting = plan().parent ? max_queued : 0;  // for the parent to take them
    const std::size_t payloads = slots * (2 + 2) + waiting;      // docs/aggregator.md, "Memory"
    constexpr std::size_t all_else = 16 << 10;
    require(__sanitizer_get_current_allocated_bytes() <=
            bytes_before + payloads * payload_bytes + all_else);
  }

 private:
  [[nodiscard]] bool knows_key(const cohom_header& header) const {
    const bool from_below = header.kind == cohom_contribution || header.kind == cohom_hello ||
                            header.kind == cohom_waiting;
    if (from_below) return fuzz::is_member(plan(), header.worker, header.key);
    return plan().parent && header.key == plan().parent->key && header.worker == parent_worker;
  }

  void learn(const cohom_header& header, std::span<const std::byte> data, bool narrow) {
    if (header.kind == cohom_hello) oracle_->take_hello(header);
    if (header.kind != cohom_contribution && header.kind != cohom_sum) return;
    require(data.size() % 8 == 0);
    Words words(data.size() / 8);
    std::memcpy(words.data(), data.data(), data.size());
    if (header.kind == cohom_sum) return oracle_->take_sum(header, std::move(words));
    ++contributions_;
    oracle_->take_contribution(header, narrow ? std::nullopt : std::optional(std::move(words)));
  }

  /// At what the group has sent since the last time.
  void check() {
    auto& held = held_messages();
    for (auto i = std::prev(held.end(), std::ptrdiff_t(held.size() - checked_)); i != held.end();
         ++i) {
      oracle_->check(i->header, i->data);
      require(i->link->queued_messages() <= max_queued);
      // A slot sends one sum at a time.
      if (i->header.kind == cohom_sum)
        require(std::none_of(held.begin(), i, [&](const HeldMessage& other) {
          return other.header.kind == cohom_sum && other.header.slot == i->header.slot &&
                 other.header.sequence != i->header.sequence;
        }));
    }
    checked_ = held.size();
  }

  LogBudget notes_{0, std::chrono::minutes(1)};
  DaemonGroup group_;
  std::optional<fuzz::DaemonOracle> oracle_{std::in_place, group_.plan()};
  std::size_t checked_ = 0;  ///< of the held messages
  std::uint64_t contributions_ = 0;
  int messages_ = 0;
  bool said_parent_address_ = false;
};

cohom_header right_header(const GroupPlan& plan, std::uint8_t kind, std::uint32_t worker) {
  const bool of_parent = kind == cohom_sum || kind == cohom_hello_answer;
  cohom_header header = make_hello({.job = plan.job,
                                    .epoch = plan.epoch,
                                    .key = of_parent ? 5000 : 1000 + worker,
                                    .group = number,
                                    .worker = of_parent ? parent_worker : worker,
                                    .own_group = kind == cohom_hello ? 20 + worker : 0});
  header.kind = kind;
  return header;
}

/// Everybody is there, and has taken what that needs.
void form(Daemon& daemon) {
  for (const std::uint32_t worker : std::span(workers).first(3)) {
    daemon.take(right_header(daemon.plan(), cohom_hello, worker), {});
    daemon.say_address(worker, std::byte{1});
  }
  daemon.say_parent_address(std::byte{1});
  daemon.meet_parent();
  daemon.take(right_header(daemon.plan(), cohom_hello_answer, 0), {});
  daemon.start();
}

/// What a message carries, at any address, with nothing around it.
class Data {
 public:
  Data(std::size_t bytes, std::uint8_t seed) : offset_(seed % 8), bytes_(offset_ + bytes) {
    for (std::size_t i = 0; i < bytes; ++i)
      bytes_[offset_ + i] = static_cast<std::byte>(seed * (i + 1) + i / 7);
  }
  [[nodiscard]] std::span<const std::byte> span() const {
    return std::span(bytes_).subspan(offset_);
  }

 private:
  std::size_t offset_;
  std::vector<std::byte> bytes_;
};

void take_words(Daemon& daemon, FuzzInput& input, cohom_header header, bool flawed, int times) {
  constexpr std::uint8_t merges[] = {0, 1, 2, 16, 17, 18, 19, 3, 4, 3, 4, 5, 15, 20, 2, 255};
  const std::uint8_t where = input.byte(), how = input.byte(), seed = input.byte();
  header.slot = where % 2;
  header.sequence = where / 2;
  header.offset = 0;
  header.merge = merges[how % 16];
  header.words = static_cast<__u16>(1 + how / 8 * 8);
  std::size_t bytes = 8u * header.words;
  if (flawed) {
    const std::uint8_t at = input.byte();
    reinterpret_cast<std::uint8_t*>(&header)[at % sizeof header] ^= input.byte();
    if (at >= 128) bytes = input.number(2) % (2 * payload_bytes);
  }
  const Data data(bytes, seed);
  for (int i = 0; i < times; ++i) daemon.take(header, data.span());
}

void take_narrow(Daemon& daemon, FuzzInput& input, cohom_header header, bool flawed) {
  constexpr std::uint8_t widths[] = {1, 2, 4, 8, 16, 32};
  const std::uint8_t where = input.byte(), how = input.byte(), seed = input.byte();
  const std::size_t narrow = how % 5;
  Promotion promotion{.narrow_width = widths[narrow],
                      .wide_width = widths[narrow + 1 + how / 5 % (5 - narrow)],
                      .has_levels = narrow < 3 && (how & 128) != 0,
                      .block = 16u << seed % 8};
  if (promotion.has_levels)
    for (std::uint8_t& level : promotion.levels) level = input.byte();
  const std::size_t blocks = 1 + where / 16 % 4;
  header.slot = where % 2;
  header.sequence = where / 2 % 8;
  header.offset = 0;
  header.words = static_cast<__u16>(blocks * wide_block_words(promotion));
  std::size_t bytes = 8 * blocks * narrow_block_words(promotion);
  if (flawed) {
    const std::uint8_t at = input.byte();
    const std::uint8_t value = input.byte();
    switch (at % 6) {
      case 0: promotion.narrow_width = value; break;
      case 1: promotion.wide_width = value; break;
      case 2: promotion.block = 1u << value % 32 | value / 32; break;
      case 3: header.words = static_cast<__u16>(header.words + value); break;
      case 4: bytes = value * 4u; break;
      case 5: reinterpret_cast<std::uint8_t*>(&header)[at % sizeof header] ^= value; break;
    }
  }
  daemon.take(header, Data(bytes, seed).span(), &promotion);
}

/// Kernels keep room for one block, and the thread that sums has it for all groups.
void make_room_in_kernels() {
  constexpr std::size_t block = 65536;
  kernels::ThcFormat format;
  format.rotation = block;
  format.table = false;
  format.narrow_width = 1;
  format.wide_width = 2;
  const Words narrow(block / 64);
  Words wide(block / 32);
  const std::uint64_t* const contributions[] = {narrow.data()};
  for (const auto* table : {&kernels::kernel_table(), &kernels::kernel_table(kernels::Isa::scalar)})
    table->thc.promote(format, {ElementType::f32, 0, block}, contributions, 1, wide.data());
}

/// What the next bytes of the input ask for.
void step(Daemon& daemon, FuzzInput& input) {
  const std::uint8_t what = input.byte();
  const std::uint32_t worker = workers[what >> 3 & 3];
  const bool flawed = (what & 64) != 0;
  const int times = (what & 128) != 0 ? 1 + input.byte() : 1;
  const auto header = [&](std::uint8_t kind) { return right_header(daemon.plan(), kind, worker); };
  switch (what & 7) {
    case 0: return take_words(daemon, input, header(cohom_contribution), flawed, times);
    case 1: return take_words(daemon, input, header(cohom_sum), flawed, times);
    case 2: return take_narrow(daemon, input, header(cohom_contribution), flawed);
    case 3: {
      constexpr std::uint8_t kinds[] = {cohom_hello, cohom_hello_answer, cohom_waiting};
      cohom_header packet = header(input.one_of(kinds));
      if (flawed) reinterpret_cast<std::uint8_t*>(&packet)[input.choice(64)] ^= input.byte();
      const Data data(flawed ? input.byte() : 0, 1);
      for (int i = 0; i < times; ++i) daemon.take(packet, data.span());
      return;
    }
    case 4: return daemon.let_go_oldest();
    case 5: return daemon.let_go_of(worker == workers[3] ? parent_worker : worker);
    case 6: return daemon.multicast_waiting_sums();
    case 7: break;
  }
  const auto first = static_cast<std::byte>(!flawed);
  switch (input.choice(4)) {
    case 0: return daemon.say_address(worker, first);
    case 1: return daemon.say_parent_address(first);
    case 2: return daemon.meet_parent();
    default: return daemon.start();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  [[maybe_unused]] static const bool once = (make_room_in_kernels(), true);
  FuzzInput input(data, size);
  const std::uint8_t how = input.byte();
  const std::size_t bytes_before = __sanitizer_get_current_allocated_bytes();
  Daemon daemon((how & 1) != 0);
  if ((how & 2) == 0) form(daemon);
  while (!input.empty() && !daemon.over()) step(daemon, input);
  daemon.finish(bytes_before);
  return 0;
}
