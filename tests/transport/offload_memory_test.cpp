// Memory that an aggregator lacks, at every allocation once: who asked for something does not get
// it, nothing of it is kept, and all others are served.

#include "aggregation/server/daemon_plane.hpp"
#include "aggregation/server/ebpf_plane.hpp"
#include "control_caller.hpp"
#include "failing_memory.hpp"

#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <dlfcn.h>
#include <poll.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

namespace cohom::offload {
namespace {

using test::allocations_left;
using test::Switch;

// A leaf opens groups.

constexpr std::uint32_t leafs_groups = 32;

GroupPlan plan_below(const DataPlane& parent) {
  return {.job = 5,
          .epoch = 0x5000000000000005,
          .members = {{0, 1001}},
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
    const auto number = leaf.add_group(plan);
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

// The control server's thread lacks memory between its waking and the end of its round: what it
// waits with is not its clients'. See poll() below.

thread_local bool serves = false;
thread_local long left_at_waking = -1;
std::atomic<long> servers_allocations_left = -1;

void end_of_round() {
  serves = true;
  // Unless the test has said something else meanwhile.
  if (left_at_waking >= 0)
    servers_allocations_left.compare_exchange_strong(left_at_waking, allocations_left);
  left_at_waking = allocations_left = -1;
}

/// A member that may be thrown out anywhere. At the second challenge the round of the first is
/// over. It asks for no status: the JSON library takes memory where it gives some back, and ends
/// the process where there is none.
void come_as_far_as_possible(std::uint16_t port, std::uint64_t job) {
  try {
    Caller member(port);
    if (!is_admitted(member, job)) return;
    member.send(Ready{});
    for (int i = 0; i < 2; ++i) {
      member.send(join_of(test::job(job), 0, 1));
      if (!member.expect<JoinChallenge>()) return;
    }
  } catch (const Error&) {  // it was thrown out
  }
}

TEST(AServerWithoutMemory, ServesTheNextOne) {
  const Switch one(
      test::make_host_plane({.slots = 1 << 14, .groups = 1 << 12, .served = end_of_round}));
  long allocation = 0;
  for (;; ++allocation) {
    const long failed_before = test::allocations_failed;
    servers_allocations_left = allocation;
    const auto job = 2 * static_cast<std::uint64_t>(allocation);
    come_as_far_as_possible(one.port(), job);
    servers_allocations_left = -1;
    if (test::allocations_failed == failed_before) break;
    Caller next(one.port());
    ASSERT_TRUE(is_admitted(next, job + 1)) << "behind allocation " << allocation;
  }
  EXPECT_GT(allocation, 20) << "a member's way takes some memory";
}

}  // namespace
}  // namespace cohom::offload

extern "C" int poll(pollfd* descriptors, nfds_t count, int timeout) {
  using Poll = int (*)(pollfd*, nfds_t, int);
  static const auto real = reinterpret_cast<Poll>(::dlsym(RTLD_NEXT, "poll"));
  const int ready = real(descriptors, count, timeout);
  if (cohom::offload::serves)
    cohom::test::allocations_left = cohom::offload::left_at_waking =
        cohom::offload::servers_allocations_left;
  return ready;
}
