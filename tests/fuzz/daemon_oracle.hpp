#pragma once
// What a daemon's group must send, worked out from what it took.

#include "require.hpp"

#include "aggregation/protocol/merge_code.hpp"
#include "aggregation/server/data_plane.hpp"
#include "kernels/table/kernel_table.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace cohom::fuzz {

inline bool is_member(const offload::GroupPlan& plan, std::uint32_t worker, std::uint64_t key) {
  return std::ranges::any_of(plan.members, [=](const offload::MemberPlan& member) {
    return member.worker == worker && member.key == key;
  });
}

class DaemonOracle {
 public:
  using Words = std::vector<std::uint64_t>;

  explicit DaemonOracle(const offload::GroupPlan& plan) : plan_(plan) {}

  /// The first hello of a member, which the group has taken.
  void take_hello(const cohom_header& header) {
    require(own_groups_.emplace(header.worker, static_cast<__u16>(header.call)).second);
  }

  /// A contribution that the group has taken. None: it was narrow, and the sum is not worked out.
  void take_contribution(const cohom_header& header, std::optional<Words> words) {
    Use& use = uses_[{header.slot, header.sequence}];
    if (use.words.empty()) use.identity = header;
    require(same(use.identity, header));
    require(use.words.emplace(header.worker, std::move(words)).second);
    if (use.words.size() == member_count()) use.sum = sum_of(use);
  }

  /// The parent's sum, which the group has taken.
  void take_sum(const cohom_header& header, Words words) {
    Use& use = uses_.at({header.slot, header.sequence});
    require(use.forwarded && !use.whole && same(use.identity, header));
    use.sum = std::move(words), use.whole = true;
  }

  /// A message that the group sends.
  void check(const cohom_header& header, std::span<const std::byte> data) {
    require(header.magic == cohom_magic && header.version == cohom_packet_version);
    require(header.job == plan_.job && header.epoch == plan_.epoch && header.flags == 0);
    const bool up = plan_.parent && header.key == plan_.parent->key;
    require(up ? header.worker == plan_.parent->worker && header.group == plan_.parent->number
               : is_member(plan_, header.worker, header.key) &&
                     header.group == own_groups_.at(header.worker));
    switch (header.kind) {
      case cohom_contribution: return check_forwarded(up, header, data);
      case cohom_sum: return check_sum(up, header, data);
      case cohom_hello: return require(up && data.empty());
      default: require(!up && data.empty());
    }
  }

  /// Whether all sums that are there have gone to all members.
  [[nodiscard]] bool all_sent() const {
    for (const auto& [key, use] : uses_) {
      const bool whole = plan_.parent ? use.whole : use.words.size() == member_count();
      if (whole && use.sent.size() != member_count()) return false;
    }
    return true;
  }

 private:
  struct Use {
    cohom_header identity{};
    std::map<std::uint32_t, std::optional<Words>> words;  ///< by worker
    std::optional<Words> sum;                             ///< none: not there, or not known
    bool forwarded = false, whole = false;                ///< of a leaf
    std::set<std::uint32_t> sent;                         ///< the members that the sum was sent to
  };

  [[nodiscard]] static bool same(const cohom_header& a, const cohom_header& b) {
    return a.call == b.call && a.round == b.round && a.reduction == b.reduction &&
           a.offset == b.offset && a.words == b.words && a.merge == b.merge;
  }
  [[nodiscard]] std::size_t member_count() const { return plan_.members.size(); }

  /// In the order of workers, which counts for floats.
  static std::optional<Words> sum_of(const Use& use) {
    const Merge merge = *offload::merge_of_code(use.identity.merge);
    std::optional<Words> sum;
    for (const auto& [worker, words] : use.words) {
      if (!words) return std::nullopt;
      if (!sum) {
        sum = words;
        continue;
      }
      const void* const sources[] = {sum->data(), words->data()};
      kernels::kernel_table(kernels::Isa::scalar)
          .merge(merge, sources, 2, 8 * sum->size(), sum->data());
    }
    return sum;
  }

  static void check_words(const Use& use, const cohom_header& header,
                          std::span<const std::byte> data) {
    require(same(use.identity, header) && data.size() == 8u * header.words);
    if (!use.sum) return;
    require(use.sum->size() == header.words);
    require(std::memcmp(use.sum->data(), data.data(), data.size()) == 0);
  }
  void check_forwarded(bool up, const cohom_header& header, std::span<const std::byte> data) {
    Use& use = uses_.at({header.slot, header.sequence});
    require(up && use.words.size() == member_count());
    check_words(use, header, data);
    require(!std::exchange(use.forwarded, true));
  }
  void check_sum(bool up, const cohom_header& header, std::span<const std::byte> data) {
    Use& use = uses_.at({header.slot, header.sequence});
    require(!up && use.words.size() == member_count() && (!plan_.parent || use.whole));
    check_words(use, header, data);
    require(use.sent.insert(header.worker).second);
  }

  const offload::GroupPlan& plan_;
  std::map<std::uint32_t, __u16> own_groups_;  ///< by worker: its number for the group
  std::map<std::pair<std::uint32_t, std::uint32_t>, Use> uses_;  ///< by slot and use
};

}  // namespace cohom::fuzz
