// Memory that an aggregator lacks, at every allocation once: who asked for something does not get
// it, and nothing of it is kept.

#include "control_caller.hpp"
#include "failing_memory.hpp"
#include "offload/daemon_plane.hpp"
#include "offload/ebpf_plane.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <new>
#include <optional>

namespace cohom::offload {
namespace {

using test::allocations_left;

// A leaf opens groups.

constexpr std::uint32_t leafs_groups = 32;

GroupPlan plan_below(const DataPlane& parent) {
  return {.job = 5,
          .epoch = 0x5000000000000005,
          .members = 1,
          .keys = {1001},
          .slots = 4,
          .payload_bytes = 80,
          .parent = ParentPlan{.key = 5000,
                               .data_address = parent.data_address(),
                               .ucx_address = parent.ucx_address(),
                               .control = test::local(1)}};
}

/// Its number; none without memory for it.
std::optional<std::uint32_t> opened(DataPlane& leaf, const GroupPlan& plan, long allocation) {
  allocations_left = allocation;
  try {
    const auto number = leaf.open(plan);
    allocations_left = -1;
    EXPECT_TRUE(number) << "there are places";
    return number;
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
}

/// Groups stay open, since what a plane keeps for them takes memory now and then.
void expect_no_slots_of_groups_without_memory(DataPlane& leaf, const GroupPlan& plan) {
  int failed = 0;
  for (std::uint32_t group = 0; group < leafs_groups; ++group) {
    const std::uint32_t before = leaf.free_slots();
    long allocation = 0;
    for (; !opened(leaf, plan, allocation); ++allocation, ++failed)
      ASSERT_EQ(leaf.free_slots(), before) << "group " << group << ", allocation " << allocation;
    ASSERT_EQ(leaf.free_slots(), before - plan.slots);
  }
  EXPECT_GT(failed, 0);
}

TEST(ALeafWithoutMemory, KeepsNoSlotsInThePacketsProgram) {
  const auto parent = plane();
  const auto leaf = test::make_host_plane({.groups = leafs_groups});
  expect_no_slots_of_groups_without_memory(*leaf, plan_below(*parent));
}

TEST(ALeafWithoutMemory, KeepsNoSlotsInTheKernel) {
  if (!has_ebpf()) GTEST_SKIP() << why_no_ebpf();
  const auto parent = plane();
  std::unique_ptr<DataPlane> leaf;
  try {
    leaf = make_ebpf_plane({.ports = {}, .address = test::local(0), .groups = leafs_groups});
  } catch (const Error& error) {  // no root, or an old kernel
    GTEST_SKIP() << error.what();
  }
  expect_no_slots_of_groups_without_memory(*leaf, plan_below(*parent));
}

TEST(ALeafWithoutMemory, KeepsNoSlotsInADaemon) {
  const DaemonSetup setup{.groups = leafs_groups, .transports = "tcp,self"};
  std::unique_ptr<DataPlane> parent;
  try {
    parent = make_daemon_plane(setup);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
    GTEST_SKIP() << error.what();
  }
  expect_no_slots_of_groups_without_memory(*make_daemon_plane(setup), plan_below(*parent));
}

}  // namespace
}  // namespace cohom::offload
