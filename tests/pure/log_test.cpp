// Lines of the log: whose they are, and who prints what all ranks would.

#include "log.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace cohom::test {
namespace {

std::string printed(void (*say)()) {
  testing::internal::CaptureStderr();
  say();
  return testing::internal::GetCapturedStderr();
}

TEST(Log, LinesCarryTheRank) {
  setenv("OMPI_COMM_WORLD_RANK", "5", 1);
  EXPECT_EQ(printed([] { warn_once("before anybody said it"); }),
            "[cohom warning, rank 5] before anybody said it\n");
  set_log_rank(3);
  EXPECT_EQ(printed([] { warn_once("behind it"); }), "[cohom warning, rank 3] behind it\n");
}

TEST(Log, OneRankPrintsWhatAllWould) {
  EXPECT_EQ(printed([] { warn_once_for_all(1, "alike"); }), "");
  EXPECT_NE(printed([] { warn_once_for_all(0, "alike"); }).find("alike"), std::string::npos);
  EXPECT_EQ(printed([] { warn_once_for_all(0, "alike"); }), "") << "once";
}

}  // namespace
}  // namespace cohom::test
