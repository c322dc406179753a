// Settings, reports, and what they add up to.

#include "ptx/report.hpp"
#include "ptx/coverage.hpp"
#include "ptx/settings.hpp"
#include "run_ptx.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>
#include <stdexcept>

namespace cohom::ptx {
namespace {

TEST(Settings, ValuesThatMeanNothingAreErrors) {
  EXPECT_FALSE(Settings::read().races);
  setenv("COHOM_TEST_PTX_RACES", "1", 1);
  setenv("COHOM_TEST_PTX_STREAMS", "random", 1);
  setenv("COHOM_TEST_PTX_NAN", "second", 1);
  const Settings read = Settings::read();
  EXPECT_TRUE(read.races);
  EXPECT_EQ(read.streams, StreamOrder::random);
  EXPECT_EQ(read.nan, NanMode::second_operand);
  setenv("COHOM_TEST_PTX_NAN", "third", 1);
  EXPECT_THROW(Settings::read(), std::runtime_error);
  unsetenv("COHOM_TEST_PTX_NAN");
  setenv("COHOM_TEST_PTX_RACES", "yes", 1);
  EXPECT_THROW(Settings::read(), std::runtime_error);
  unsetenv("COHOM_TEST_PTX_RACES");
  unsetenv("COHOM_TEST_PTX_STREAMS");
}

std::string report_of(SmallKernel& small) {
  std::ostringstream out;
  const std::string names[] = {"small", "other"};
  const Kernel* const kernels[] = {&small.kernel()};
  write_report(out, names, kernels);
  return out.str();
}

Coverage coverage_of(const std::string& report) {
  std::istringstream text(report);
  Coverage coverage;
  coverage.add(text);
  return coverage;
}

TEST(Report, KernelsThatNeverRanAndHowMuchOfOthersDid) {
  const DevicePiece memory(8);
  SmallKernel small("mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; @%p1 ret;");
  EXPECT_EQ(coverage_of(report_of(small)).never_run(),
            (std::vector<std::string>{"other", "small"}));
  EXPECT_EQ(small.run({1, 1}, memory.address()), 0);
  const Coverage coverage = coverage_of(report_of(small));
  EXPECT_EQ(coverage.registered(), 2);
  EXPECT_EQ(coverage.never_run(), (std::vector<std::string>{"other"}));
  EXPECT_EQ(coverage.complaints(), 0);
  std::ostringstream table;
  coverage.print_table(table);
  EXPECT_NE(table.str().find("80.0%  small"), std::string::npos) << table.str();
  EXPECT_NE(table.str().find("never run: other"), std::string::npos) << table.str();
}

TEST(Report, SeveralProcessesAddUp) {
  std::istringstream first("registered\ta\nran\ta\t1\t2\t10\t1100\n");
  std::istringstream second("registered\ta\nran\ta\t1\t3\t20\t0110\ncomplaint\ta\t4\trace\n");
  Coverage coverage;
  coverage.add(first);
  coverage.add(second);
  EXPECT_TRUE(coverage.never_run().empty());
  EXPECT_EQ(coverage.complaints(), 4);
  std::ostringstream table, complaints;
  coverage.print_table(table);
  coverage.print_complaints(complaints);
  EXPECT_NE(table.str().find(" 75.0%  a"), std::string::npos) << table.str();
  EXPECT_NE(complaints.str().find("a: race, 4 times"), std::string::npos) << complaints.str();
}

TEST(Report, OtherLinesAreErrors) {
  for (const char* const line : {"ran\ta\t1\n", "nonsense\ta\t1\n", "complaint\ta\tx\ty\n", "\n"})
    EXPECT_THROW(coverage_of(line), std::runtime_error) << line;
}

}  // namespace
}  // namespace cohom::ptx
