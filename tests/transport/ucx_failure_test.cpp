// A rank that dies ends the others' calls with an error, whatever carries the messages.

#include "forked_ranks.hpp"
#include "ucx_transport/transport.hpp"

#include <cohom/allreduce.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace cohom::testing {
namespace {

using namespace std::chrono_literals;

struct Case {
  const char* paths;
  int ranks;
  std::size_t elements;
  int polls;  ///< how far the rank that dies takes part in the call
};

enum Outcome : int { met_an_error = 0, finished = 1, met_another_error = 2 };

/// Whether one more call ends with an error, too.
bool fails_again(Communicator& communicator) {
  try {
    std::vector<float> data(1);
    allreduce(std::span(data), communicator, {.codec = "raw", .algorithm = "ring"});
  } catch (const Error& error) {
    return error.kind() == ErrorKind::transport;
  }
  return false;
}

/// One good call, then one in which the last rank dies, and one more.
int live(const Case& test, ProcessBoard& board, int rank) {
  const auto worker = [&] {
    return std::make_shared<ucx::Worker>(ucx::ContextSettings{.transports = test.paths});
  };
  const auto transport = std::make_shared<ucx::UcxTransport>(worker, rank, test.ranks,
                                                             board.exchange(rank, test.ranks));
  Communicator communicator(transport);
  std::vector<float> data(test.elements, 1.0f);
  const Options options{.codec = "raw", .algorithm = "ring"};
  allreduce(std::span(data), communicator, options);
  if (rank == test.ranks - 1) {
    Request call;
    if (test.polls > 0)
      call = allreduce_start(data.data(), data.data(), data.size(), ElementType::f32, communicator,
                             options);
    for (int i = 0; i < test.polls; ++i) communicator.progress();
    std::raise(SIGKILL);
  }
  try {
    allreduce(std::span(data), communicator, options);
  } catch (const Error&) {
    if (!fails_again(communicator)) return met_another_error;
    throw;
  }
  return finished;
}

int outcome_of(const Case& test, ProcessBoard& board, int rank) {
  try {
    return live(test, board, rank);
  } catch (const Error& error) {
    std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
    return error.kind() == ErrorKind::transport ? met_an_error : met_another_error;
  }
}

class UcxFailure : public ::testing::TestWithParam<Case> {};

TEST_P(UcxFailure, EndsTheOthersCalls) {
  const auto board = make_process_board();
  const auto begin = std::chrono::steady_clock::now();
  std::vector<pid_t> processes;
  for (int rank = 0; rank < GetParam().ranks; ++rank)
    processes.push_back(fork_rank([&] { return outcome_of(GetParam(), *board, rank); }));
  // In the order in which they end: a dead process that nobody waits for looks alive.
  for (int ended = 0; ended < GetParam().ranks; ++ended) {
    int status = 0;
    const auto process = std::ranges::find(processes, waitpid(-1, &status, 0));
    ASSERT_NE(process, processes.end());
    if (process == processes.end() - 1) {
      EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "status " << status;
    } else {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == met_an_error)
          << "rank " << process - processes.begin() << ": status " << status;
    }
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
}

INSTANTIATE_TEST_SUITE_P(Paths, UcxFailure,
                         ::testing::Values(Case{"tcp,self", 2, 10, 0},
                                           Case{"tcp,self", 4, 1 << 20, 20},
                                           Case{"posix,cma,self", 2, 10, 0},
                                           Case{"posix,cma,self", 4, 1 << 20, 20},
                                           Case{"posix,self", 3, 1 << 20, 20}));

}  // namespace
}  // namespace cohom::testing
