// What hwloc says of machines that it is told of, and what is known without it.

#include "topology/machine.hpp"
#include "topology/binding.hpp"
#include "topology/rank_place.hpp"
#include "topology/topology_of.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

using Numbers = std::vector<std::uint32_t>;

ThreadSet threads(std::initializer_list<std::uint32_t> numbers) {
  ThreadSet set;
  for (const std::uint32_t number : numbers) set.add(number);
  return set;
}

TEST(ThreadSetTest, HoldsNumbers) {
  ThreadSet set = threads({130, 0, 64, 3});
  EXPECT_EQ(set.numbers(), (Numbers{0, 3, 64, 130}));
  EXPECT_TRUE(set.contains(64));
  EXPECT_FALSE(set.contains(65));
  EXPECT_FALSE(set.contains(100000));
  EXPECT_TRUE(set.intersects(threads({130})));
  EXPECT_FALSE(set.intersects(threads({1, 2, 131, 500})));
  EXPECT_EQ(intersection(set, threads({3, 4, 130, 999})), threads({3, 130}));
  EXPECT_TRUE(ThreadSet({0, 0}).empty());
  EXPECT_EQ(ThreadSet({1, 0}), threads({0}));
}

TEST(ThreadSetTest, IsWrittenAsRanges) {
  EXPECT_EQ(number_ranges(Numbers{}), "none");
  EXPECT_EQ(number_ranges(Numbers{5}), "5");
  EXPECT_EQ(number_ranges(Numbers{0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
}

TEST(BindingTest, IsNotEmpty) { EXPECT_FALSE(own_threads().empty()); }

// Without hwloc.
TEST(MachineTest, IsKnownByItsThreadsAlone) {
  const Machine machine = machine_by_affinity("a reason");
  EXPECT_FALSE(machine.by_hwloc);
  EXPECT_EQ(machine.source, "sched_getaffinity (a reason)");
  const auto own = own_threads().numbers();
  ASSERT_EQ(machine.cores.size(), own.size());
  for (std::size_t i = 0; i < own.size(); ++i) {
    EXPECT_EQ(machine.cores[i].number, own[i]);
    EXPECT_EQ(machine.cores[i].threads, threads({own[i]}));
    EXPECT_EQ(machine.cores[i].numa_domain, Core::unknown);
  }
  EXPECT_TRUE(machine.numa_domains.empty());
  const Device device{.name = "eth0", .near = own_threads()};
  EXPECT_EQ(distance(device, own_threads(), machine), Distance::machine);
}

/// hwloc reads its variables when it is asked.
class OtherMachines : public ::testing::Test {
 protected:
  OtherMachines() { clear(); }
  ~OtherMachines() override { clear(); }

  static Machine read(const char* variable, const char* value) {
    setenv(variable, value, 1);
    return read_machine();
  }

 private:
  static void clear() {
    for (const char* name : {"HWLOC_SYNTHETIC", "HWLOC_XMLFILE"}) unsetenv(name);
  }
};

TEST_F(OtherMachines, HaveCoresInDomainsAndPackages) {
  const Machine machine = read("HWLOC_SYNTHETIC", "pack:2 numa:2 core:3 pu:2");
  if (!machine.by_hwloc) GTEST_SKIP() << machine.source;
  EXPECT_TRUE(machine.source.starts_with("hwloc 2.")) << machine.source;
  EXPECT_EQ(machine.packages, 2u);
  ASSERT_EQ(machine.numa_domains.size(), 4u);
  EXPECT_EQ(machine.numa_domains[3].number, 3u);
  EXPECT_GT(machine.numa_domains[3].memory_bytes, 0u);
  ASSERT_EQ(machine.cores.size(), 12u);
  EXPECT_EQ(machine.cores[7].number, 7u);
  EXPECT_EQ(machine.cores[7].package, 1u);
  EXPECT_EQ(machine.cores[7].numa_domain, 2u);
  EXPECT_EQ(machine.cores[7].threads, threads({14, 15}));
}

/// "0! 1": the cores of rank 0, of ranks on one node that may run on these threads.
std::string cores_text(const Machine& machine, const std::vector<ThreadSet>& bindings) {
  std::vector<RankPlace> places;
  for (const ThreadSet& binding : bindings)
    places.push_back({.numa_domain = Core::unknown, .threads = binding});
  std::string text;
  for (const UsableCore& core : topology_of(places, 0, machine).cores)
    text += (text.empty() ? "" : " ") + std::to_string(core.number) + (core.alone ? "!" : "");
  return text;
}

TEST_F(OtherMachines, HaveCoresThatRanksShare) {
  const Machine machine = read("HWLOC_SYNTHETIC", "numa:1 core:4 pu:2");
  if (!machine.by_hwloc) GTEST_SKIP() << machine.source;
  const ThreadSet all = threads({0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(cores_text(machine, {all}), "0! 1! 2! 3!");
  EXPECT_EQ(cores_text(machine, {all, all}), "0 1 2 3");
  EXPECT_EQ(cores_text(machine, {threads({0, 1, 2, 3}), threads({4, 5, 6, 7})}), "0! 1!");
  // Hyperthreads of one core.
  EXPECT_EQ(cores_text(machine, {threads({0, 2, 4}), threads({1, 6})}), "0 1! 2!");
  // Threads that this machine does not have.
  EXPECT_EQ(cores_text(machine, {threads({100})}), "");
}

TEST_F(OtherMachines, WhoseCoresHwlocDoesNotKnowHaveThreads) {
  const Machine machine = read("HWLOC_SYNTHETIC", "numa:1 pu:3");
  if (!machine.by_hwloc) GTEST_SKIP() << machine.source;
  ASSERT_EQ(machine.cores.size(), 3u);
  EXPECT_EQ(machine.cores[2].threads, threads({2}));
}

TEST_F(OtherMachines, HaveDevicesNearSomeCores) {
  const Machine machine = read("HWLOC_XMLFILE", COHOM_TWO_PACKAGES);
  if (!machine.by_hwloc) GTEST_SKIP() << machine.source;
  ASSERT_EQ(machine.cores.size(), 4u);
  const auto devices = read_devices();
  ASSERT_TRUE(devices);
  ASSERT_EQ(devices->nics.size(), 2u);
  EXPECT_EQ(devices->nics[0].name, "ib0, mlx5_0");
  EXPECT_EQ(devices->nics[0].address, "0000:17:00.0");
  EXPECT_EQ(devices->nics[1].name, "eth0");
  ASSERT_EQ(devices->gpus.size(), 2u) << "the console is none";
  EXPECT_EQ(devices->gpus[0].name, "0000:18:00.0");
  EXPECT_EQ(devices->gpus[1].name, "card1");
  EXPECT_EQ(devices->gpus[1].near, threads({4, 5, 6, 7}));
  const ThreadSet first = threads({1}), second = threads({6}), both = threads({1, 6});
  EXPECT_EQ(distance(devices->nics[0], first, machine), Distance::numa_domain);
  EXPECT_EQ(distance(devices->nics[0], second, machine), Distance::machine);
  EXPECT_EQ(distance(devices->nics[1], second, machine), Distance::numa_domain);
  EXPECT_EQ(distance(devices->gpus[1], both, machine), Distance::numa_domain);
}

TEST_F(OtherMachines, HaveDevicesInThePackage) {
  const Machine machine = read("HWLOC_SYNTHETIC", "pack:2 numa:2 core:1 pu:1");
  if (!machine.by_hwloc) GTEST_SKIP() << machine.source;
  const Device device{.name = "eth0", .near = threads({0})};
  EXPECT_EQ(distance(device, threads({0}), machine), Distance::numa_domain);
  EXPECT_EQ(distance(device, threads({1}), machine), Distance::package);
  EXPECT_EQ(distance(device, threads({2}), machine), Distance::machine);
  // One between both domains of a package, and one that may be anywhere.
  EXPECT_EQ(distance({.name = "eth0", .near = threads({0, 1})}, threads({1}), machine),
            Distance::package);
  EXPECT_EQ(distance({.name = "eth0", .near = threads({0, 1, 2, 3})}, threads({1}), machine),
            Distance::machine);
}

}  // namespace
}  // namespace cohom::test
