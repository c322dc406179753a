// Whether the tests of kernels have met a device of this machine's; if not, this one is counted as
// skipped.

#include "tested_tables.hpp"

#include <gtest/gtest.h>

namespace cohom::test {
namespace {

TEST(OwnDevice, IsTestedWhereThereIsOne) {
  if (!why_no_device().empty()) GTEST_SKIP() << "no device of this machine's: " << why_no_device();
  EXPECT_EQ(tested_tables().back().name, "cuda");
}

}  // namespace
}  // namespace cohom::test
