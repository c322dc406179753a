// libFuzzer target: packets for the switch's program (kernels/ebpf/aggregate.bpf.c, built from the
// same source), right and wrong ones, in groups that sum. Whatever comes, nothing is read or
// written outside of the buffers (the sanitizers watch), who lacks a member's key changes nothing
// and is told nothing, and the sums that leave are those of the contributions that were taken. See
// scripts/fuzz.

#include "fuzz_input.hpp"
#include "require.hpp"
#include "switch_frames.hpp"
#include "switch_program.h"
#include "word_merges.hpp"

#include "aggregation/protocol/check.h"
#include "aggregation/protocol/merge_code.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <vector>

namespace {

using namespace cohom;
using namespace cohom::test;
using fuzz::require;

constexpr std::uint32_t groups = 3, slots = 6, group_slots = 2;
constexpr std::uint32_t root = 0, leaf = 1;                      // the third group is nobody's
constexpr std::array<std::uint32_t, 4> workers{0, 1, 699, 700};  // the third is no member
constexpr std::uint64_t members = 0b111;
constexpr std::uint32_t leaf_worker = 1;  // what the leaf is to its parent
constexpr std::uint16_t payload_words = 40;
constexpr std::uint64_t nonce = 0x1122334455667788;
constexpr Place parent_endpoint{0x0100000a, 0x3412};
constexpr std::uint32_t parent_device = 9;

struct FreeProgram {
  void operator()(cohom_switch_program* program) const { cohom_switch_free(program); }
};

std::uint64_t key_of(std::uint32_t number, std::uint32_t worker) {
  return 1000 * (number + 1) + worker;
}
/// None: it is no member.
std::optional<std::uint32_t> member_of(std::uint32_t worker) {
  if (worker == workers[0]) return 0;
  if (worker == workers[1]) return 1;
  if (worker == workers[3]) return 2;
  return std::nullopt;
}

/// A switch with two groups, and what must be true of it.
class Switch {
 public:
  Switch() : program_(cohom_switch_make(groups, slots)) {
    for (const std::uint32_t number : {root, leaf}) {
      cohom_group& group = group_of(number);
      group.job = 70 + number;
      group.members = members;
      group.first_slot = 1 + number * group_slots;  // the first and the last slot are nobody's
      group.slots = group_slots;
      group.payload_words = payload_words;
      std::fill(std::begin(group.who.workers), std::end(group.who.workers), cohom_nobody);
      std::uint32_t member = 0;
      for (const std::uint32_t worker : {workers[0], workers[1], workers[3]}) {
        group.who.workers[member] = static_cast<__u16>(worker);
        group.endpoints[member++].key = key_of(number, worker);
      }
      group.epoch = ~std::uint64_t{number};
    }
    cohom_group& group = group_of(leaf);
    group.parent.is_there = 1;
    group.parent.nonce = nonce;
    group.parent.worker = leaf_worker;
    group.parent.endpoint.key = 5000;
    group.parent.endpoint.group = 77;
    group.parent.endpoint.address = parent_endpoint.address;
    group.parent.endpoint.port = parent_endpoint.port;
  }

  [[nodiscard]] cohom_group& group_of(std::uint32_t number) const {
    return cohom_switch_groups(program_.get())[number];
  }

  /// Lets the program have a frame, and looks at what it makes of it.
  void take(const std::vector<std::uint8_t>& frame, std::uint32_t device) {
    remember();
    leaving_.clear();
    cohom_switch_run(
        program_.get(), frame.data(), static_cast<std::uint32_t>(frame.size()), device,
        [](void* self, const void* bytes, std::uint32_t size, std::uint32_t) {
          static_cast<Switch*>(self)->leaving_.emplace_back(bytes, size);
        },
        this);
    const int found = verdict();
    const Frame packet(frame.data(), frame.size());
    if (found < 0 || found >= cohom_drop_malformed || !knows_key(packet.header)) {
      require(leaving_.empty() && same());
      return;
    }
    require(same_slots(0, 1) && same_slots(slots - 1, 1));
    learn(packet, found);
    for (const Frame& out : leaving_) check(out, packet.header.group);
  }

 private:
  using Words = std::vector<std::uint64_t>;
  /// All that the program may change, but for its counters.
  [[nodiscard]] std::span<const std::byte> group_bytes() const {
    return std::as_bytes(std::span(cohom_switch_groups(program_.get()), groups));
  }
  [[nodiscard]] std::span<const std::byte> slot_bytes(std::size_t first, std::size_t count) const {
    return std::as_bytes(std::span(cohom_switch_slots(program_.get()) + first, count));
  }

  void remember() {
    const auto copy = [](std::span<const std::byte> bytes, std::vector<std::byte>& to) {
      to.resize(bytes.size());
      std::memcpy(to.data(), bytes.data(), bytes.size());
    };
    copy(group_bytes(), groups_before_);
    copy(slot_bytes(0, slots), slots_before_);
    std::copy_n(cohom_switch_counters(program_.get()), cohom_verdicts, counters_.begin());
  }
  [[nodiscard]] bool same_slots(std::size_t first, std::size_t count) const {
    const auto now = slot_bytes(first, count);
    return std::memcmp(now.data(), slots_before_.data() + first * sizeof(cohom_slot), now.size()) ==
           0;
  }
  [[nodiscard]] bool same() const {
    return same_slots(0, slots) &&
           std::memcmp(group_bytes().data(), groups_before_.data(), groups_before_.size()) == 0;
  }
  /// Negative: the frame was not for this switch.
  [[nodiscard]] int verdict() const {
    const auto* const counters = cohom_switch_counters(program_.get());
    int found = -1;
    for (int v = 0; v < cohom_verdicts; ++v) {
      const std::uint64_t more = counters[v] - counters_[static_cast<std::size_t>(v)];
      require(more == 0 || (more == 1 && found < 0));
      if (more != 0) found = v;
    }
    return found;
  }
  /// A member's, or the parent's of the leaf.
  [[nodiscard]] bool knows_key(const cohom_header& packet) const {
    if (packet.group > leaf) return false;
    const cohom_group& group = group_of(packet.group);
    const bool from_below = packet.kind == cohom_contribution || packet.kind == cohom_hello;
    if (from_below)
      return member_of(packet.worker) && packet.key == key_of(packet.group, packet.worker);
    return packet.group == leaf && packet.key == group.parent.endpoint.key &&
           packet.worker == leaf_worker;
  }
  /// Adds up what was taken, in a way of its own.
  void learn(const Frame& packet, int verdict) {
    const cohom_header& header = packet.header;
    if (header.kind == cohom_hello_answer)
      require(cohom_nonce(&header) == nonce && packet.source == parent_endpoint);
    if (header.kind != cohom_contribution && header.kind != cohom_sum) return;
    require(header.slot < group_slots && header.words <= payload_words);
    const Use use{header.group, header.slot, header.sequence};
    if (header.kind == cohom_sum) {
      if (verdict == cohom_multicast) wholes_[use] = packet.words;
      return;
    }
    if (!cohom_is_merged(static_cast<cohom_verdict>(verdict))) return;
    require(taken_[use].insert(header.worker).second);  // once
    const auto [found, first] = sums_.try_emplace(use, packet.words);
    if (first) return;
    Words& sum = found->second;
    require(sum.size() == packet.words.size());
    const auto merge = offload::merge_of_code(header.merge);
    require(merge.has_value());
    for (std::size_t i = 0; i < sum.size(); ++i)
      sum[i] = merged(merge->kind, sum[i], packet.words[i]);
  }
  /// A packet that leaves goes to a member or to the parent, with its key and to where it is.
  void check(const Frame& out, std::uint32_t number) const {
    const cohom_group& group = group_of(number);
    const cohom_header& header = out.header;
    const bool up = header.kind == cohom_contribution;
    require(number <= leaf && header.epoch == group.epoch && header.job == group.job);
    const auto member = member_of(header.worker);
    require(up ? number == leaf && header.worker == leaf_worker
               : member && (group.known >> *member & 1) != 0);
    const cohom_endpoint& place = up ? group.parent.endpoint : group.endpoints[*member];
    require(header.key == place.key && header.group == static_cast<std::uint16_t>(place.group));
    require(out.target == (Place{place.address, place.port}));
    const Use use{number, header.slot, header.sequence};
    if (up) require(out.words == sums_.at(use) && taken_.at(use).size() == 3);
    if (header.kind != cohom_sum) return;
    require(taken_.at(use).size() == 3);
    require(out.words == (number == leaf ? wholes_ : sums_).at(use));
  }

  using Use = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  ///< group, slot, use
  std::unique_ptr<cohom_switch_program, FreeProgram> program_;
  std::vector<std::byte> groups_before_, slots_before_;
  std::array<std::uint64_t, cohom_verdicts> counters_{};
  std::vector<Frame> leaving_;
  std::map<Use, Words> sums_, wholes_;
  std::map<Use, std::set<std::uint32_t>> taken_;
};

/// A right packet of a member or of the parent.
cohom_header right_packet(const Switch& one, std::uint32_t kind, std::uint32_t number,
                          std::uint32_t worker) {
  const cohom_group& group = one.group_of(number);
  const bool of_parent = kind != cohom_contribution && kind != cohom_hello;
  cohom_header packet{};
  packet.magic = cohom_magic;
  packet.version = cohom_packet_version;
  packet.kind = static_cast<__u8>(kind);
  packet.job = group.job;
  packet.epoch = group.epoch;
  packet.group = static_cast<__u16>(number);
  packet.worker = static_cast<__u16>(of_parent ? leaf_worker : worker);
  packet.key = of_parent ? group.parent.endpoint.key : key_of(number, worker);
  packet.call = 6;
  if (kind == cohom_hello_answer) {
    packet.sequence = static_cast<__u32>(group.parent.nonce);
    packet.offset = static_cast<__u32>(group.parent.nonce >> 32);
  }
  return packet;
}

/// What the next bytes of the input ask for.
void step(Switch& one, fuzz::FuzzInput& input) {
  const std::uint8_t what = input.byte();
  const std::uint32_t kind = what & 7, number = what >> 3 & 1, which = what >> 4 & 3;
  if (kind == 7) {
    one.group_of(number).started = 1;
    return;
  }
  const bool of_parent = kind != cohom_contribution && kind != cohom_hello;
  const Place place = of_parent ? parent_endpoint : Place{10 + which, 7};
  const std::uint32_t device = of_parent ? parent_device : 20 + which;
  if (kind == 0 || kind == 6) {  // anything
    std::vector<std::uint8_t> bytes(input.byte());
    for (std::uint8_t& byte : bytes) byte = input.byte();
    return one.take(kind == 0 ? frame_of(place, bytes) : bytes, device);
  }
  cohom_header packet = right_packet(one, kind, number, workers[which]);
  std::vector<std::uint64_t> words;
  if (kind == cohom_contribution || kind == cohom_sum) {
    const std::uint8_t where = input.byte(), how = input.byte();
    packet.slot = where % group_slots;
    packet.sequence = where / 8;
    packet.merge = how % (cohom_merge_max16 + 1);
    words.resize(1 + how % payload_words);
    packet.words = static_cast<__u16>(words.size());
    for (std::uint64_t& word : words) word = input.byte() * 0x0123456789abcdefull;
  }
  std::vector<std::uint8_t> frame = frame_of(place, packet, words);
  // What is wrong with it: bytes anywhere.
  for (std::uint32_t flaws = what >> 6; flaws != 0; --flaws) {
    const std::uint8_t at = input.byte();
    frame[at % frame.size()] ^= input.byte();
  }
  one.take(frame, device);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Switch one;
  cohom::fuzz::FuzzInput input(data, size);
  for (int i = 0; i < 64 && !input.empty(); ++i) step(one, input);
  return 0;
}
