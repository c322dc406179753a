// Lines of the log: whose they are, and who prints what all ranks would.

#include "base/log.hpp"

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

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

// Every rank is rank 0 of MPI_COMM_SELF, and rank 0 of the job may be another one elsewhere.
TEST(Log, RankZeroOfTheJobWarnsOfWhatAllWould) {
  set_log_rank(2);
  EXPECT_FALSE(speaks_for_all(0));
  EXPECT_EQ(printed([] { warn_once_for_all(0, "alike"); }), "");
  set_log_rank(0);
  EXPECT_TRUE(speaks_for_all(3));
  EXPECT_EQ(printed([] { warn_once_for_all(3, "alike"); }), "[cohom warning, rank 0] alike\n");
  EXPECT_EQ(printed([] { warn_once_for_all(3, "alike"); }), "") << "once";
}

// What a communicator's ranks decide alike in every call.
TEST(Log, RankZeroOfACommunicatorTellsOfDecisions) {
  const auto level = log().level();
  log().set_level(spdlog::level::info);
  set_log_rank(4);
  EXPECT_EQ(printed([] { log_once_for_all(1, "decided"); }), "");
  EXPECT_EQ(printed([] { log_once_for_all(0, "decided"); }), "[cohom info, rank 4] decided\n");
  EXPECT_EQ(printed([] { log_once_for_all(0, "decided"); }), "") << "once";
  log().set_level(level);
}

TEST(Log, ARankOfACommunicatorCountsWhereNobodyKnowsTheJob) {
  set_log_rank(-1);
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) unsetenv(variable);
  EXPECT_TRUE(speaks_for_all(0));
  EXPECT_FALSE(speaks_for_all(1));
  setenv("OMPI_COMM_WORLD_RANK", "1", 1);
  EXPECT_FALSE(speaks_for_all(0));
}

}  // namespace
}  // namespace cohom::test
