// The switch's program, from the kernel's source, packet by packet: who is let in, and whom it
// believes.

#include "switch_program.h"
#include "aggregation/protocol/hello.hpp"
#include "aggregation/protocol/verdict_names.hpp"
#include "aggregation/server/group_table.hpp"
#include "switch_frames.hpp"

#include <gtest/gtest.h>

#include <arpa/inet.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

using namespace offload;

constexpr Place first{0x0a00000a, 0x1111}, second{0x0b00000a, 0x2222}, parent{0x0100000a, 0x3333};
constexpr std::uint32_t first_device = 4, parent_device = 9;
constexpr std::uint32_t second_worker = 700;

struct FreeProgram {
  void operator()(cohom_switch_program* program) const { cohom_switch_free(program); }
};

/// A leaf with two workers of many.
class SwitchProgram : public testing::Test {
 protected:
  SwitchProgram() {
    GroupPlan plan{
        .job = 5,
        .epoch = 0xeeee000000000001,
        .members = {{0, 1001}, {second_worker, 1002}},
        .slots = 4,
        .payload_bytes = 80,
        .parent = ParentPlan{
            .number = 6, .worker = 0, .key = 5000, .data_address = {}, .ucx_address = {}}};
    sockaddr_in address{};
    address.sin_addr.s_addr = parent.address;
    address.sin_port = parent.port;
    number_ = *table_.add_group(plan, address);
  }

  [[nodiscard]] cohom_group& group() const { return cohom_switch_groups(program_.get())[number_]; }
  [[nodiscard]] cohom_header hello(std::uint32_t worker) const {
    return make_hello({.job = 5,
                       .epoch = 0xeeee000000000001,
                       .key = worker == 0 ? 1001u : 1002u,
                       .group = number_,
                       .worker = worker,
                       .own_group = 7});
  }
  /// What the parent sends back.
  [[nodiscard]] cohom_header answer() const {
    cohom_header header = table_.hello_to_parent(number_);
    header.kind = cohom_hello_answer;
    header.group = static_cast<__u16>(number_);
    return header;
  }
  [[nodiscard]] cohom_header contribution(std::uint32_t worker) const {
    cohom_header header = hello(worker);
    header.kind = cohom_contribution;
    header.words = 2;
    header.call = 0;
    return header;
  }

  /// What becomes of a packet; what leaves is in `leaving_`.
  std::string send(
      const cohom_header& header, const Place& from, std::uint32_t device,
      const std::function<void(cohom_header&)>& change = [](cohom_header&) {}) {
    cohom_header changed = header;
    change(changed);
    const std::vector<std::uint64_t> before(counters(), counters() + cohom_verdicts);
    leaving_.clear();
    const auto frame = frame_of(from, changed, std::vector<std::uint64_t>(changed.words, 3));
    cohom_switch_run(
        program_.get(), frame.data(), static_cast<std::uint32_t>(frame.size()), device,
        [](void* self, const void* bytes, std::uint32_t size, std::uint32_t) {
          static_cast<SwitchProgram*>(self)->leaving_.emplace_back(bytes, size);
        },
        this);
    for (std::size_t v = 0; v < before.size(); ++v)
      if (counters()[v] != before[v]) return std::string(name_of(static_cast<cohom_verdict>(v)));
    return "not ours";
  }
  [[nodiscard]] const __u64* counters() const { return cohom_switch_counters(program_.get()); }

  std::unique_ptr<cohom_switch_program, FreeProgram> program_{cohom_switch_make(4, 8)};
  GroupTable table_{{cohom_switch_groups(program_.get()), 4}, 8};
  std::uint32_t number_ = 0;
  std::vector<Frame> leaving_;
};

using H = cohom_header;

TEST_F(SwitchProgram, TheParentsAnswerIsTakenOnlyFromTheParent) {
  const auto forged = [&](const std::function<void(H&)>& change, const Place& from = parent) {
    return send(answer(), from, first_device, change);
  };
  EXPECT_EQ(forged([](H& h) { h.key = 0; }), "drop_key");
  EXPECT_EQ(forged([](H& h) { h.key = 1001; }), "drop_key") << "a member's";
  EXPECT_EQ(forged([](H& h) { h.sequence ^= 1; }), "drop_key") << "the nonce";
  EXPECT_EQ(forged([](H& h) { h.offset ^= 1u << 31; }), "drop_key") << "the nonce";
  EXPECT_EQ(forged([](H& h) { ++h.epoch; }), "drop_epoch");
  EXPECT_EQ(forged([](H& h) { h.worker = 1; }), "drop_worker");
  EXPECT_EQ(forged([](H&) {}, first), "drop_source");
  EXPECT_EQ(forged([](H&) {}, {parent.address, first.port}), "drop_source");
  EXPECT_FALSE(table_.parent_known(number_));
  EXPECT_EQ(send(answer(), parent, parent_device), "parent_learnt");
  EXPECT_TRUE(table_.parent_known(number_));
  EXPECT_EQ(group().parent.endpoint.device, parent_device);
  // Another answer changes nothing.
  EXPECT_EQ(send(answer(), parent, first_device), "parent_learnt");
  EXPECT_EQ(group().parent.endpoint.device, parent_device);
}

TEST_F(SwitchProgram, AMemberIsWhoKnowsItsKey) {
  EXPECT_EQ(send(hello(0), first, first_device, [](H& h) { h.key = 1002; }), "drop_key");
  EXPECT_TRUE(leaving_.empty());
  EXPECT_EQ(send(hello(0), first, first_device), "greeted");
  ASSERT_EQ(leaving_.size(), 1u);
  EXPECT_EQ(leaving_[0].target, first);
  EXPECT_EQ(leaving_[0].header.key, 1001u);
  EXPECT_EQ(leaving_[0].header.group, 7u);
  EXPECT_EQ(send(hello(0), second, first_device), "drop_source");
  for (const std::uint32_t other : {1u, 64u, 699u, 701u, 764u, 0xffffu})
    EXPECT_EQ(send(hello(other), second, first_device), "drop_worker") << other;
  EXPECT_EQ(send(contribution(0), first, first_device), "drop_source") << "not open";
  table_.start(number_);
  EXPECT_EQ(send(contribution(0), first, first_device, [](H& h) { ++h.key; }), "drop_key");
  EXPECT_EQ(send(contribution(0), first, first_device, [](H& h) { h.key = 0; }), "drop_key");
  EXPECT_EQ(send(contribution(0), first, first_device), "kept");
}

TEST_F(SwitchProgram, MergesAreThoseOfWords) {
  EXPECT_EQ(send(hello(0), first, first_device), "greeted");
  table_.start(number_);
  const auto by = [&](__u8 merge, __u16 slot) {
    return send(contribution(0), first, first_device,
                [&](H& h) { h.merge = merge, h.slot = slot; });
  };
  EXPECT_EQ(by(cohom_merge_max16 + 1, 0), "drop_merge");
  EXPECT_EQ(by(cohom_merge_add_float, 0), "drop_merge");
  EXPECT_EQ(by(cohom_merge_max, 0), "kept");
  EXPECT_EQ(by(cohom_merge_max8, 1), "kept");
  EXPECT_EQ(by(cohom_merge_max16, 2), "kept");
}

TEST_F(SwitchProgram, SumsComeFromTheParentAndGoToTheMembersWithTheirKeys) {
  EXPECT_EQ(send(hello(0), first, first_device), "greeted");
  EXPECT_EQ(send(hello(second_worker), second, first_device), "greeted");
  EXPECT_EQ(send(answer(), parent, parent_device), "parent_learnt");
  table_.start(number_);
  EXPECT_EQ(send(contribution(0), first, first_device), "kept");
  EXPECT_EQ(send(contribution(second_worker), second, first_device), "passed_up");
  ASSERT_EQ(leaving_.size(), 1u);
  EXPECT_EQ(leaving_[0].target, parent);
  EXPECT_EQ(leaving_[0].header.key, 5000u);
  EXPECT_EQ(leaving_[0].header.group, 6u);
  EXPECT_EQ(leaving_[0].words, (std::vector<std::uint64_t>{6, 6}));

  cohom_header sum = contribution(0);
  sum.kind = cohom_sum;
  sum.key = 5000;
  EXPECT_EQ(send(sum, parent, parent_device, [](H& h) { h.key = 1001; }), "drop_key");
  EXPECT_EQ(send(sum, parent, first_device), "drop_source");
  EXPECT_EQ(send(sum, first, parent_device), "drop_source");
  EXPECT_TRUE(leaving_.empty());
  EXPECT_EQ(send(sum, parent, parent_device), "spread");
  ASSERT_EQ(leaving_.size(), 2u);
  EXPECT_EQ(leaving_[0].header.key, 1001u);
  EXPECT_EQ(leaving_[1].header.key, 1002u);
  EXPECT_EQ(leaving_[1].header.worker, second_worker);
  EXPECT_EQ(leaving_[1].target, second);
}

}  // namespace
}  // namespace cohom::test
