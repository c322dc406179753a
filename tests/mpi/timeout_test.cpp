// A rank that does not come to a call, or stops in the middle of one, over MPI and over UCX: the
// others give up after cohom_timeout and say whom they wait for; the process can still make calls
// elsewhere, and ends as usual.

#include "mpix_fixture.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace cohom::testing {
namespace {

class Timeout : public MpixTest {
 protected:
  /// All ranks but the last call; the last comes when they have given up.
  template <class Call>
  void expect_timeout(Call&& call) {
    if (ranks_ == 1) GTEST_SKIP() << "one rank waits for nobody";
    expect_good_call(comm_);
    if (last_rank()) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    const auto start = std::chrono::steady_clock::now();
    const int code = call();
    const auto took = std::chrono::steady_clock::now() - start;
    ASSERT_NE(code, MPI_SUCCESS);
    const std::string text = text_of(code);
    EXPECT_NE(text.find("no progress for 0.3 s, the timeout: waits for rank"), std::string::npos)
        << text;
    if (!last_rank()) EXPECT_LT(took, std::chrono::milliseconds(1400));
    // What is under way on this communicator could be taken for a later call's.
    float one = 1;
    const int later =
        MPIX_Allreduce_compressed(MPI_IN_PLACE, &one, 1, MPI_FLOAT, MPI_SUM, comm_, Info());
    EXPECT_NE(later, MPI_SUCCESS);
    MPI_Comm fresh = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &fresh);
    expect_good_call(fresh);
    MPI_Comm_free(&fresh);
  }

  /// Too many for a board, from which a rank that comes late would still take the sum.
  static constexpr int many = 100000;
  std::vector<float> data_ = std::vector<float>(many, 1.0f);
  Info info_{{"cohom_codec", "thc"}, {"cohom_timeout", "0.3"}};
};

TEST_F(Timeout, OfABlockingCall) {
  expect_timeout([&] {
    return MPIX_Allreduce_compressed(MPI_IN_PLACE, data_.data(), many, MPI_FLOAT, MPI_SUM, comm_,
                                     info_);
  });
}

TEST_F(Timeout, OfARequest) {
  expect_timeout([&] {
    MPIX_Compressed_request request = MPIX_COMPRESSED_REQUEST_NULL;
    int code = MPIX_Iallreduce_compressed(MPI_IN_PLACE, data_.data(), many, MPI_FLOAT, MPI_SUM,
                                          comm_, info_, &request);
    for (int done = 0; code == MPI_SUCCESS && done == 0;)
      code = MPIX_Compressed_test(&request, &done);
    return code;
  });
}

// MPI gives the number of a communicator that is freed to the next one.
TEST_F(Timeout, WhatComesLateMeetsNoOtherCommunicator) {
  constexpr int count = 1 << 15;
  const Info patient{{"cohom_codec", "thc"}, {"cohom_algorithm", "direct"}},
      impatient{{"cohom_codec", "thc"}, {"cohom_algorithm", "direct"}, {"cohom_timeout", "0.3"}};
  std::vector<float> values(count, 1.0f);
  const auto call = [&](MPI_Comm comm, int values_of_call, const Info& info) {
    return MPIX_Allreduce_compressed(MPI_IN_PLACE, values.data(), values_of_call, MPI_FLOAT,
                                     MPI_SUM, comm, info);
  };
  const auto expect_sums = [&](MPI_Comm comm, int values_of_call) {
    std::ranges::fill(values, 1.0f);
    ASSERT_EQ(call(comm, values_of_call, patient), MPI_SUCCESS);
    for (int i = 0; i < values_of_call; ++i) ASSERT_NEAR(values[i], ranks_, 0.5 * ranks_);
  };
  for (const bool late : {true, false}) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    expect_sums(comm, count);
    if (late && ranks_ > 1) {
      if (last_rank()) std::this_thread::sleep_for(std::chrono::milliseconds(1000));
      EXPECT_NE(call(comm, count, impatient), MPI_SUCCESS);
    } else {
      expect_sums(comm, count / 2);  // has the number of the call that was given up
    }
    MPI_Comm_free(&comm);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

constexpr std::chrono::seconds max_pause(30);

/// Wakes this process when the file is there.
class Alarm {
 public:
  explicit Alarm(const std::string& file) {
    const pid_t own = getpid();
    child_ = fork();
    if (child_ != 0) return;
    const auto end = std::chrono::steady_clock::now() + max_pause;
    while (access(file.c_str(), F_OK) != 0 && std::chrono::steady_clock::now() < end)
      usleep(10'000);
    kill(own, SIGCONT);
    _exit(0);
  }
  ~Alarm() { waitpid(child_, nullptr, 0); }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

 private:
  pid_t child_ = 0;
};

class TimeoutInMidCall : public MpixTest, public ::testing::WithParamInterface<const char*> {
 protected:
  static constexpr int count = 4 << 20;
  static constexpr float changed = -1;
  using Seconds = std::chrono::duration<double>;

  TimeoutInMidCall() {
    MPI_Comm_split(MPI_COMM_WORLD, last_rank() ? 1 : 0, rank_, &others_);
    int name = getpid();
    MPI_Bcast(&name, 1, MPI_INT, 0, MPI_COMM_WORLD);
    others_are_done_ = ::testing::TempDir() + "cohom_timeout_" + std::to_string(name);
  }
  ~TimeoutInMidCall() override { MPI_Comm_free(&others_); }

  /// Returns the code of a call in which the last rank stops after so long (not, if negative),
  /// until all others are done.
  int call(MPIX_Compressed_plan plan, Seconds before_stop) {
    const bool stops = last_rank() && before_stop.count() >= 0;
    std::unique_ptr<Alarm> alarm;
    if (stops) alarm = std::make_unique<Alarm>(others_are_done_);
    MPI_Barrier(comm_);
    const auto start = std::chrono::steady_clock::now();
    bool stopped = !stops;
    int code = MPIX_Compressed_plan_start(plan, in_.data(), out_.data()), done = 0;
    while (code == MPI_SUCCESS && done == 0) {
      code = MPIX_Compressed_plan_test(plan, &done);
      if (stopped || std::chrono::steady_clock::now() - start < before_stop) continue;
      stopped = true;
      raise(SIGSTOP);
    }
    took_ = std::chrono::steady_clock::now() - start;
    if (code == MPI_SUCCESS) EXPECT_EQ(std::ranges::count(out_, float(ranks_)), count);
    return code;
  }

  bool attempt(double part_of_call);

  const std::vector<float> ones_ = std::vector<float>(count, 1.0f);
  std::vector<float> in_, out_;
  Seconds took_{};                   ///< the last call
  MPI_Comm others_ = MPI_COMM_NULL;  ///< all but the last rank
  std::string others_are_done_;      ///< a file
};

/// What goes on behind a call that was given up concerns neither the user's memory, nor what the
/// rank computes that comes late; and no other call is made where it could be taken for a part of
/// it. @returns whether the call was given up after the ranks had agreed on it.
bool TimeoutInMidCall::attempt(double part_of_call) {
  in_ = ones_;
  out_.assign(count, changed);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  const auto make_plan = [&](const Info& info) {
    MPIX_Compressed_plan plan = MPIX_COMPRESSED_PLAN_NULL;
    EXPECT_EQ(MPIX_Compressed_plan_create(count, MPI_FLOAT, MPI_SUM, comm, info, &plan),
              MPI_SUCCESS);
    return plan;
  };
  const char* const algorithm = GetParam();
  MPIX_Compressed_plan patient =
      make_plan({{"cohom_codec", "raw"}, {"cohom_algorithm", algorithm}});
  EXPECT_EQ(call(patient, Seconds(-1)), MPI_SUCCESS);
  MPIX_Compressed_plan_free(&patient);
  MPI_Bcast(&took_, sizeof took_, MPI_BYTE, 0, comm_);
  // Where many programs share few cores a call may make no progress for long.
  const std::string timeout = std::to_string(std::max(0.5, 8 * took_.count()));
  MPIX_Compressed_plan plan = make_plan(
      {{"cohom_codec", "raw"}, {"cohom_algorithm", algorithm}, {"cohom_timeout", timeout.c_str()}});
  out_.assign(count, changed);
  const std::string text = text_of(call(plan, part_of_call * took_));
  std::ranges::fill(in_, changed);
  if (!last_rank()) {
    EXPECT_LT(took_, max_pause);
    out_.assign(count, changed);
    MPI_Barrier(others_);
    if (rank_ == 0) std::ofstream(others_are_done_).put('\n');
  }
  int in_round = text.find(" in round ") != std::string::npos ? 1 : 0;
  MPI_Bcast(&in_round, 1, MPI_INT, 0, comm_);  // moves what is under way
  if (last_rank()) unlink(others_are_done_.c_str());
  if (in_round == 1) {
    // By the plan, whose timeout may come before the last rank; and without a timeout.
    EXPECT_NE(MPIX_Compressed_plan_execute(plan, ones_.data(), in_.data()), MPI_SUCCESS);
    const Info ring{{"cohom_algorithm", "ring"}};
    const std::string later = text_of(
        MPIX_Allreduce_compressed(ones_.data(), in_.data(), 9, MPI_FLOAT, MPI_SUM, comm, ring));
    EXPECT_NE(later.find("make a new communicator; the first error was: "), std::string::npos)
        << later;
    if (!last_rank()) EXPECT_EQ(std::ranges::count(out_, changed), count);
  }
  MPIX_Compressed_plan_free(&plan);
  MPI_Comm_free(&comm);
  return in_round == 1;
}

TEST_P(TimeoutInMidCall, OfARankThatStops) {
  if (ranks_ == 1) GTEST_SKIP() << "one rank waits for nobody";
  bool in_mid_call = false;
  for (const double part : {0.4, 0.2, 0.6, 0.3, 0.1, 0.5, 0.05, 0.7})
    if (!in_mid_call) in_mid_call = attempt(part);
  EXPECT_TRUE(in_mid_call) << "the last rank always stopped between calls";
  expect_good_call(comm_);
}

INSTANTIATE_TEST_SUITE_P(Algorithms, TimeoutInMidCall,
                         ::testing::Values("ring", "direct", "fabric"),
                         [](const auto& algorithm) { return std::string(algorithm.param); });

}  // namespace
}  // namespace cohom::testing
