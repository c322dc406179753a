// A rank is killed in the middle of a call whose words the other ranks of its node read.

#include "forked_ranks.hpp"
#include "node_window/node_meeting.hpp"
#include "one_node_transport.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/error.hpp>

#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace cohom::testing {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int ranks = 3, killed = 2;

/// What a survivor learns. The second one may learn of the first, which ended as it had its error.
enum Outcome : int { of_the_killed, of_another, nothing };

/// Calls until rank 2 is killed, which is while a call is under way: they follow each other.
Outcome calls_until_a_death(int rank, const Exchange& exchange, const Options& options,
                            std::chrono::milliseconds life) {
  Communicator communicator(
      with_node_windows(std::make_shared<test::OneNodeTransport>(rank, ranks), exchange));
  std::vector<float> vector(std::size_t{1} << 20);
  std::jthread killer;
  const auto begin = Clock::now();
  if (rank == killed)
    killer = std::jthread([life] {
      std::this_thread::sleep_for(life);
      kill(getpid(), SIGKILL);
    });
  try {
    while (Clock::now() - begin < 20s) {
      vector.assign(vector.size(), float(rank + 1));
      allreduce(vector, communicator, options);
      if (vector.front() != 6 || vector.back() != 6) return nothing;
    }
  } catch (const Error& error) {
    const std::string text = error.what();
    if (text.find("process of rank 2, on this node, has ended") != std::string::npos)
      return of_the_killed;
    if (text.find("on this node, has ended") != std::string::npos ||
        text.find("ended its call before its message was taken") != std::string::npos)
      return of_another;
    std::fprintf(stderr, "another error: %s\n", error.what());
  }
  return nothing;
}

struct Case {
  const char* codec;
  const char* threads;
};

class Deaths : public ::testing::TestWithParam<Case> {};

// Every rank waits for every other one by direct, so all survivors learn of it.
TEST_P(Deaths, AreAnErrorOnTheOthers) {
  const Options options{.codec = GetParam().codec,
                        .algorithm = "direct",
                        .threads = GetParam().threads,
                        .native = "never"};
  for (const auto life : {5ms, 40ms, 75ms}) {
    const auto board = make_process_board();
    std::vector<pid_t> processes;
    for (int rank = 0; rank < ranks; ++rank)
      processes.push_back(fork_rank(
          [&] { return calls_until_a_death(rank, board->exchange(rank, ranks), options, life); }));
    bool any_of_the_killed = false;
    for (int rank = 0; rank < ranks; ++rank) {
      int status = 0;
      waitpid(processes[std::size_t(rank)], &status, 0);
      if (rank == killed) {
        EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "status " << status;
        continue;
      }
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) < nothing)
          << "rank " << rank << ", status " << status;
      any_of_the_killed |= WIFEXITED(status) && WEXITSTATUS(status) == of_the_killed;
    }
    EXPECT_TRUE(any_of_the_killed);
  }
}

INSTANTIATE_TEST_SUITE_P(Codecs, Deaths,
                         ::testing::Values(Case{"raw", "0"}, Case{"raw", "1"}, Case{"exact", "1"}),
                         [](const auto& tested) {
                           return std::string(tested.param.codec) + tested.param.threads;
                         });

}  // namespace
}  // namespace cohom::testing
