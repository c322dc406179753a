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

  std::vector<float> data_ = std::vector<float>(20000, 1.0f);
  Info info_{{"cohom_codec", "thc"}, {"cohom_timeout", "0.3"}};
};

TEST_F(Timeout, OfABlockingCall) {
  expect_timeout([&] {
    return MPIX_Allreduce_compressed(MPI_IN_PLACE, data_.data(), 20000, MPI_FLOAT, MPI_SUM, comm_,
                                     info_);
  });
}

TEST_F(Timeout, OfARequest) {
  expect_timeout([&] {
    MPIX_Compressed_request request = MPIX_COMPRESSED_REQUEST_NULL;
    int code = MPIX_Iallreduce_compressed(MPI_IN_PLACE, data_.data(), 20000, MPI_FLOAT, MPI_SUM,
                                          comm_, info_, &request);
    for (int done = 0; code == MPI_SUCCESS && done == 0;)
      code = MPIX_Compressed_test(&request, &done);
    return code;
  });
}

constexpr std::chrono::seconds longest_pause(30);

/// Stops this process a moment later, until the file is there.
class Pause {
 public:
  explicit Pause(const std::string& until) : child_(fork()) {
    if (child_ != 0) return;
    usleep(30'000);
    kill(getppid(), SIGSTOP);
    const auto end = std::chrono::steady_clock::now() + longest_pause;
    while (access(until.c_str(), F_OK) != 0 && std::chrono::steady_clock::now() < end)
      usleep(10'000);
    kill(getppid(), SIGCONT);
    _exit(0);
  }
  ~Pause() { waitpid(child_, nullptr, 0); }
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;

 private:
  pid_t child_;
};

class TimeoutInMidCall : public MpixTest, public ::testing::WithParamInterface<const char*> {
 protected:
  static constexpr int count = 4 << 20;
  static constexpr float changed = -1;

  TimeoutInMidCall() {
    MPI_Comm_split(MPI_COMM_WORLD, last_rank() ? 1 : 0, rank_, &others_);
    int name = getpid();
    MPI_Bcast(&name, 1, MPI_INT, 0, MPI_COMM_WORLD);
    others_are_done_ = ::testing::TempDir() + "cohom_timeout_" + std::to_string(name);
  }
  ~TimeoutInMidCall() override {
    MPI_Comm_free(&others_);
    unlink(others_are_done_.c_str());
  }

  /// The code of the call that fails.
  int call_until_it_fails() {
    const Info info{
        {"cohom_codec", "raw"}, {"cohom_algorithm", GetParam()}, {"cohom_timeout", "0.5"}};
    for (;;) {
      std::ranges::fill(out_, changed);
      const int code = MPIX_Allreduce_compressed(in_.data(), out_.data(), count, MPI_FLOAT, MPI_SUM,
                                                 comm_, info);
      if (code != MPI_SUCCESS) return code;
      if (std::ranges::count(out_, float(ranks_)) != count) ADD_FAILURE() << "a wrong sum";
    }
  }

  std::vector<float> in_ = std::vector<float>(count, 1.0f), out_ = in_;
  MPI_Comm others_ = MPI_COMM_NULL;  ///< all but the last rank
  std::string others_are_done_;      ///< a file
};

/// What MPI does with the messages of a call that was given up concerns neither the user's memory,
/// nor what the rank computes that comes late.
TEST_P(TimeoutInMidCall, OfARankThatStops) {
  if (ranks_ == 1) GTEST_SKIP() << "one rank waits for nobody";
  expect_good_call(comm_);  // what a new communicator does has no timeout
  MPI_Barrier(comm_);
  const auto start = std::chrono::steady_clock::now();
  std::unique_ptr<Pause> pause;
  if (last_rank()) pause = std::make_unique<Pause>(others_are_done_);
  const std::string text = text_of(call_until_it_fails());
  std::ranges::fill(in_, changed);
  std::ranges::fill(out_, changed);
  if (!last_rank()) {
    EXPECT_NE(text.find("no progress for 0.5 s, the timeout: waits for "), std::string::npos)
        << text;
    EXPECT_LT(std::chrono::steady_clock::now() - start, longest_pause);
    MPI_Barrier(others_);
    if (rank_ == 0) std::ofstream(others_are_done_).put('\n');
  }
  pause.reset();
  MPI_Comm fresh = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &fresh);  // moves what is under way
  expect_good_call(fresh);
  MPI_Comm_free(&fresh);
  EXPECT_EQ(std::ranges::count(out_, changed), count);
}

INSTANTIATE_TEST_SUITE_P(Algorithms, TimeoutInMidCall,
                         ::testing::Values("ring", "direct", "fabric"),
                         [](const auto& algorithm) { return std::string(algorithm.param); });

}  // namespace
}  // namespace cohom::testing
