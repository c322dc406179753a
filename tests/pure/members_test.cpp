// Who is which member: every number that a packet can have, for groups of every size.

#include "aggregation/server/data_plane.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

namespace cohom::offload {
namespace {

TEST(Members, AreFoundByTheirWorkerAndNobodyElseIs) {
  std::mt19937 random(5);
  for (std::uint32_t count = 0; count <= cohom_max_members; ++count) {
    std::set<std::uint32_t> workers;
    const std::uint32_t end = count % 3 == 0 ? 64 : 8192;
    while (workers.size() < count) workers.insert(random() % end);
    std::vector<MemberPlan> plan;
    for (const std::uint32_t worker : workers) plan.push_back({worker, 1});
    const cohom_members members = workers_of(plan);
    std::vector<std::uint32_t> numbers(0x10000, cohom_max_members);
    for (std::uint32_t member = 0; member < count; ++member) numbers[plan[member].worker] = member;
    for (std::uint32_t worker = 0; worker < numbers.size(); ++worker)
      ASSERT_EQ(cohom_member_of(&members, worker), numbers[worker]) << worker << " of " << count;
  }
}

TEST(Members, HaveABitEach) {
  std::uint64_t all = 0;
  for (std::uint32_t member = 0; member < cohom_max_members; ++member) {
    EXPECT_EQ(cohom_bits_of(member), all);
    EXPECT_EQ(cohom_bit_of(member), std::uint64_t{1} << member);
    all |= cohom_bit_of(member);
  }
  EXPECT_EQ(cohom_bits_of(cohom_max_members), all);
}

}  // namespace
}  // namespace cohom::offload
