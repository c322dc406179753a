// Which code runs on which device, in nvcc's words.

#include "memory/device_code.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace cohom::test {
namespace {

using kernels::ComputeCapability;

TEST(DeviceCode, RunsOnWhatItWasMadeFor) {
  struct Case {
    std::string_view code;
    std::vector<ComputeCapability> runs, does_not;
  };
  const Case cases[] = {
      {"compute_80", {{8, 0}, {8, 9}, {9, 0}, {10, 0}, {12, 1}}, {{7, 0}, {7, 5}, {0, 0}}},
      {"sm_80", {{8, 0}, {8, 6}}, {{7, 5}, {9, 0}, {10, 0}}},
      {"sm_86 sm_90", {{8, 6}, {8, 9}, {9, 0}}, {{8, 0}, {10, 0}}},
      {"compute_90a sm_90a", {{9, 0}}, {{8, 0}, {10, 0}}},
      {"sm_100f", {{10, 0}, {10, 3}}, {{9, 0}, {11, 0}, {12, 0}}},
      {"sm_75 compute_90", {{7, 5}, {9, 0}, {10, 0}}, {{7, 0}, {8, 0}}},
      {"", {}, {{8, 0}}},
      {"native", {}, {{8, 0}}},
  };
  for (const Case& one : cases) {
    for (const auto device : one.runs)
      EXPECT_TRUE(runs_on(one.code, device))
          << one.code << " on " << device.major << "." << device.minor;
    for (const auto device : one.does_not)
      EXPECT_FALSE(runs_on(one.code, device))
          << one.code << " on " << device.major << "." << device.minor;
  }
}

}  // namespace
}  // namespace cohom::test
