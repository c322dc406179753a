// The machine of a slot (slot.h) as plain data: every state with every packet, and long random
// traffic against a model that keeps all uses of all time, for as many kept uses as the switch and
// the daemon have.

#include "aggregation/protocol/slot.h"
#include "aggregation/protocol/verdict_names.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <ostream>
#include <random>
#include <set>
#include <vector>

namespace cohom {
namespace {

constexpr std::uint64_t members = 0b1011;  // of which members have these numbers
constexpr std::uint32_t workers[] = {0, 1, 3};
constexpr std::uint64_t epoch = 77;

cohom_header packet(std::uint32_t use, std::uint32_t worker = 0) {
  cohom_header header{};
  header.epoch = epoch;
  header.sequence = use;
  header.worker = static_cast<__u16>(worker);
  header.call = 5;
  header.round = 1;
  header.reduction = 2;
  header.offset = 3;
  header.words = 4;
  header.merge = cohom_merge_max;
  return header;
}

cohom_slot_use use_at(std::uint32_t number, cohom_sum_state state, std::uint64_t seen) {
  cohom_slot_use use{};
  const cohom_header begins = packet(number);
  cohom_begin(&use, &begins);
  use.state = static_cast<__u8>(state);
  use.seen = seen;
  return use;
}

/// Verdicts that say their names where they differ.
struct Verdict {
  int code;
  bool operator==(const Verdict&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Verdict& verdict) {
  return out << (verdict.code == cohom_fine
                     ? "fine"
                     : offload::name_of(static_cast<cohom_verdict>(verdict.code)));
}

Verdict admit(cohom_slot_use use, const cohom_slot_use& before, std::uint32_t kept_uses,
              const cohom_header& header) {
  return {cohom_admit(&use, &before, kept_uses, &header, header.worker)};
}

/// Every field that makes one reduction another.
std::vector<cohom_header> others_of(const cohom_header& header) {
  std::vector<cohom_header> others(6, header);
  others[0].call ^= 1ull << 63;
  others[1].round ^= 1u << 31;
  others[2].reduction ^= 1u << 31;
  others[3].offset ^= 1u << 31;
  others[4].words ^= 1u << 15;
  others[5].merge = cohom_merge_or;
  return others;
}

TEST(Slot, WhatAContributionToTheUseAtHandComesTo) {
  struct Case {
    cohom_sum_state state;
    std::uint64_t seen;
    std::uint32_t worker;
    Verdict verdict;
  };
  for (const Case& one : std::vector<Case>{
           {cohom_sum_filling, 0b0010, 0, {cohom_fine}},
           {cohom_sum_filling, 0b0010, 1, {cohom_told_waiting}},
           {cohom_sum_local, members, 1, {cohom_forward_again}},
           {cohom_sum_held, members, 1, {cohom_told_waiting}},
           {cohom_sum_done, members, 1, {cohom_answered}},
       }) {
    for (const std::uint32_t number : {0u, 1u, 2u, 9u}) {
      const cohom_slot_use use = use_at(number, one.state, one.seen);
      const cohom_header header = packet(number, one.worker);
      for (const std::uint32_t kept_uses : {1u, 2u}) {
        EXPECT_EQ(admit(use, use, kept_uses, header), one.verdict) << one.state;
        for (const cohom_header& other : others_of(header))
          EXPECT_EQ(admit(use, use, kept_uses, other), Verdict{cohom_drop_mismatch});
      }
    }
  }
}

TEST(Slot, BeginsTheNextUseWhereTheOneBeforeIsDone) {
  const cohom_slot_use none{};
  EXPECT_EQ(admit(none, none, 1, packet(0)), Verdict{cohom_fine});
  EXPECT_EQ(admit(none, none, 1, packet(1)), Verdict{cohom_drop_order});
  EXPECT_EQ(admit(none, none, 2, packet(0)), Verdict{cohom_fine});
  EXPECT_EQ(admit(none, none, 2, packet(1)), Verdict{cohom_drop_order});
  for (const auto state : {cohom_sum_filling, cohom_sum_local, cohom_sum_held, cohom_sum_done}) {
    const Verdict next{state == cohom_sum_done ? cohom_fine : cohom_drop_order};
    const std::uint64_t seen = state == cohom_sum_filling ? 0b0001 : members;
    const auto one = [&](std::uint32_t number) { return use_at(number, state, seen); };
    // One use is kept: the next takes its place.
    EXPECT_EQ(admit(one(4), one(4), 1, packet(5)), next) << state;
    EXPECT_EQ(admit(one(4), one(4), 1, packet(6)), Verdict{cohom_drop_order});
    EXPECT_EQ(admit(one(4), one(4), 1, packet(3)), Verdict{cohom_drop_old});
    // Two are: the next takes that of the use before the last.
    const cohom_slot_use done = use_at(3, cohom_sum_done, members);
    EXPECT_EQ(admit(done, one(4), 2, packet(5)), next) << state;
    EXPECT_EQ(admit(none, one(0), 2, packet(1)), next) << state;
    EXPECT_EQ(admit(done, one(4), 2, packet(7)), Verdict{cohom_drop_order});
    EXPECT_EQ(admit(done, one(4), 2, packet(1)), Verdict{cohom_drop_old});
  }
}

TEST(Slot, SequenceNumbersDoNotWrap) {
  const cohom_slot_use last = use_at(0xffffffff, cohom_sum_done, members);
  EXPECT_EQ(admit(last, last, 1, packet(0)), Verdict{cohom_drop_old});
  EXPECT_EQ(admit(use_at(0xfffffffe, cohom_sum_done, members), last, 2, packet(0)),
            Verdict{cohom_drop_old});
}

TEST(Slot, AnotherEpochBeginsWithItsFirstUse) {
  for (const auto state : {cohom_sum_filling, cohom_sum_local, cohom_sum_held, cohom_sum_done})
    for (const std::uint32_t number : {0u, 1u, 2u, 3u})
      for (const std::uint32_t kept_uses : {1u, 2u}) {
        cohom_slot_use use = use_at(number, state, members);
        cohom_header header = packet(number);
        header.epoch = epoch + 1;
        const Verdict verdict{number == 0 ? cohom_fine : cohom_drop_order};
        EXPECT_EQ(admit(use, use, kept_uses, header), verdict);
        header.sequence = 0;
        EXPECT_EQ(cohom_admit(&use, &use, kept_uses, &header, 0), cohom_fine);
        EXPECT_EQ(use.seen, 0u);
        EXPECT_EQ(use.epoch, epoch + 1);
        EXPECT_EQ(use.sequence, 0u);
        EXPECT_EQ(use.state, cohom_sum_filling);
      }
}

TEST(Slot, TheLastContributionCompletesASum) {
  for (const bool has_parent : {false, true}) {
    cohom_slot_use use{};
    for (const std::uint32_t worker : workers) {
      const cohom_header header = packet(0, worker);
      ASSERT_EQ(cohom_admit(&use, &use, 1, &header, worker), cohom_fine);
      EXPECT_EQ(cohom_is_first(&use), worker == 0);
      const Verdict whole{has_parent ? cohom_forward : cohom_multicast};
      const Verdict verdict{cohom_count(&use, worker, members, has_parent)};
      EXPECT_EQ(verdict, worker == 3 ? whole : Verdict{cohom_kept});
    }
    EXPECT_EQ(use.seen, members);
    EXPECT_EQ(use.state, has_parent ? cohom_sum_local : cohom_sum_done);
  }
}

TEST(Slot, TakesTheParentsSumOnce) {
  for (const auto state :
       {cohom_sum_none, cohom_sum_filling, cohom_sum_local, cohom_sum_held, cohom_sum_done}) {
    const cohom_slot_use before = use_at(4, state, members);
    const auto take = [&](const cohom_header& header) {
      cohom_slot_use use = before;
      const Verdict verdict{cohom_take_sum(&use, &header)};
      EXPECT_EQ(use.state, verdict.code == cohom_multicast ? cohom_sum_done : state);
      return verdict;
    };
    EXPECT_EQ(take(packet(4)),
              Verdict{state == cohom_sum_local ? cohom_multicast : cohom_drop_repeated_sum});
    EXPECT_EQ(take(packet(3)), Verdict{cohom_drop_old});
    EXPECT_EQ(take(packet(5)), Verdict{cohom_drop_old});
    cohom_header other_epoch = packet(4);
    ++other_epoch.epoch;
    EXPECT_EQ(take(other_epoch), Verdict{cohom_drop_old});
    for (const cohom_header& other : others_of(packet(4)))
      EXPECT_EQ(take(other), Verdict{cohom_drop_mismatch});
  }
}

TEST(Slot, VerdictsOfContributionsAreMergedOrRepeatsOrDrops) {
  for (int code = 0; code < cohom_verdicts; ++code) {
    const auto verdict = static_cast<cohom_verdict>(code);
    const bool merged = code == cohom_kept || code == cohom_multicast || code == cohom_forward;
    const bool repeat =
        code == cohom_told_waiting || code == cohom_forward_again || code == cohom_answered;
    EXPECT_EQ(cohom_is_merged(verdict), merged) << offload::name_of(verdict);
    EXPECT_EQ(cohom_is_repeat(verdict), repeat) << offload::name_of(verdict);
  }
}

/// A slot, as the switch and the daemon have one.
class Slot {
 public:
  Slot(std::uint32_t kept_uses, bool has_parent) : kept_uses_(kept_uses), parent_(has_parent) {}

  Verdict contribute(const cohom_header& header) {
    cohom_slot_use& use = uses_[header.sequence % kept_uses_];
    const cohom_slot_use& before = uses_[(header.sequence + kept_uses_ - 1) % kept_uses_];
    const cohom_verdict verdict = cohom_admit(&use, &before, kept_uses_, &header, header.worker);
    return {verdict == cohom_fine ? cohom_count(&use, header.worker, members, parent_) : verdict};
  }
  Verdict take_sum(const cohom_header& header) {
    return {cohom_take_sum(&uses_[header.sequence % kept_uses_], &header)};
  }

 private:
  std::uint32_t kept_uses_;
  bool parent_;
  std::array<cohom_slot_use, 2> uses_{};
};

/// The same as docs/offload-protocol.md has it, with all uses since the epoch began.
class Model {
 public:
  Model(std::uint32_t kept_uses, bool has_parent) : kept_uses_(kept_uses), parent_(has_parent) {}

  Verdict contribute(const cohom_header& header) {
    if (is_forgotten(header)) return {cohom_drop_old};
    if (header.sequence == begun()) {
      if (!uses_.empty() && !uses_.back().done) return {cohom_drop_order};
      uses_.emplace_back().call = header.call;
    }
    if (header.sequence > begun()) return {cohom_drop_order};
    Use& use = uses_[header.sequence];
    if (use.call != header.call) return {cohom_drop_mismatch};
    if (!use.from.insert(header.worker).second) {
      if (use.done) return {cohom_answered};
      return {use.from.size() == 3 ? cohom_forward_again : cohom_told_waiting};
    }
    if (use.from.size() != 3) return {cohom_kept};
    use.done = !parent_;
    return {parent_ ? cohom_forward : cohom_multicast};
  }
  Verdict take_sum(const cohom_header& header) {
    if (header.sequence >= begun() || is_forgotten(header)) return {cohom_drop_old};
    Use& use = uses_[header.sequence];
    if (use.call != header.call) return {cohom_drop_mismatch};
    if (use.from.size() != 3 || use.done) return {cohom_drop_repeated_sum};
    use.done = true;
    return {cohom_multicast};
  }
  [[nodiscard]] std::uint32_t begun() const { return static_cast<std::uint32_t>(uses_.size()); }

 private:
  struct Use {
    std::uint64_t call = 0;
    std::set<std::uint32_t> from;
    bool done = false;
  };
  [[nodiscard]] bool is_forgotten(const cohom_header& header) const {
    return header.sequence + kept_uses_ < begun();
  }

  std::uint32_t kept_uses_;
  bool parent_;
  std::vector<Use> uses_;
};

TEST(Slot, DoesWhatTheModelDoesInLongRandomTraffic) {
  std::mt19937 random(11);
  const auto below = [&](std::uint32_t end) { return random() % end; };
  for (const std::uint32_t kept_uses : {1u, 2u})
    for (const bool has_parent : {false, true}) {
      Slot slot(kept_uses, has_parent);
      Model model(kept_uses, has_parent);
      std::map<int, int> seen;  // how often each verdict was given
      for (int i = 0; i < 20000; ++i) {
        // Mostly the use at hand, sometimes one of those around it.
        const std::uint32_t last = model.begun() + below(2);
        const std::uint32_t back = below(4) == 0 ? below(4) : 1;
        cohom_header header = packet(last > back ? last - back : below(2), workers[below(3)]);
        if (below(16) == 0) ++header.call;
        const bool down = below(has_parent ? 3 : 50) == 0;
        const Verdict expected = down ? model.take_sum(header) : model.contribute(header);
        ASSERT_EQ(down ? slot.take_sum(header) : slot.contribute(header), expected)
            << "step " << i << ", use " << header.sequence << " of " << model.begun();
        ++seen[expected.code];
      }
      EXPECT_GT(model.begun(), 100u);
      for (const int code :
           {cohom_kept, cohom_multicast, cohom_told_waiting, cohom_answered, cohom_drop_old,
            cohom_drop_order, cohom_drop_mismatch, cohom_drop_repeated_sum})
        EXPECT_GT(seen[code], 20) << Verdict{code};
      EXPECT_EQ(seen[cohom_forward] > 20 && seen[cohom_forward_again] > 20, has_parent);
    }
}

}  // namespace
}  // namespace cohom
