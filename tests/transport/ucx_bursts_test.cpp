// Ranks that die in quick succession leave errors behind, and no survivor is ended.

#include "forked_ranks.hpp"
#include "ucx_burst.hpp"
#include "ucx_transport/worker.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohom::testing {
namespace {

using namespace std::chrono_literals;

/// Peers connect to a survivor, which takes their connections, and die before they read its answer:
/// that resets their sockets. Then the survivor connects to them, which UCX does through those
/// sockets.
class DeadPeers {
 public:
  /// @return how the survivor ended
  int run() {
    std::vector<pid_t> processes;
    for (int rank = 0; rank < ranks; ++rank)
      processes.push_back(fork_rank([&] { return rank == survivor ? survive() : die(rank); }));
    for (int rank = survivor + 1; rank < ranks; ++rank)
      waitpid(processes[static_cast<std::size_t>(rank)], nullptr, 0);
    after_deaths_->wait_for_all(2);
    int status = 0;
    waitpid(processes[survivor], &status, 0);
    return status;
  }

 private:
  static constexpr int ranks = 6, survivor = 0;

  /// @return the status of the process: whether a dead peer was no error
  int survive() {
    ucx::Worker worker(settings_);
    const auto addresses = board_->exchange(survivor, ranks)(worker.address());
    board_->wait_for_all(ranks);  // they have connected
    move(worker, 100ms);
    board_->wait_for_all(ranks);
    after_deaths_->wait_for_all(2);
    // One connection after the other, the last that UCX hears of first.
    for (std::size_t peer = ranks - 1; peer > survivor; --peer)
      if (!fails(worker, peer, addresses[peer])) return 1;
    return 0;
  }

  int die(int rank) {
    ucx::Worker worker(settings_);
    const auto addresses = board_->exchange(rank, ranks)(worker.address());
    const auto endpoint = worker.connect(survivor, addresses[survivor]);
    move(worker, 50ms);  // the survivor makes no progress, so there is no answer
    board_->wait_for_all(ranks);
    board_->wait_for_all(ranks);  // now it lies in the socket
    return std::raise(SIGKILL);
  }

  static void move(ucx::Worker& worker, std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) worker.progress();
  }

  static bool fails(ucx::Worker& worker, std::size_t peer, std::span<const std::byte> address) {
    const auto endpoint = worker.connect(peer, address);
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (endpoint->failure() == UCS_OK && std::chrono::steady_clock::now() < end)
      worker.progress();
    return endpoint->failure() != UCS_OK;
  }

  const ucx::ContextSettings settings_ = {.transports = "tcp,self"};
  ProcessBoardPointer board_ = make_process_board();
  ProcessBoardPointer after_deaths_ = make_process_board();  ///< of the parent and the survivor
};

TEST(UcxBursts, ConnectingBackToTheDeadIsAnError) {
  const int status = DeadPeers().run();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

TEST(UcxBursts, EndNoSurvivor) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const BurstReport report = run_burst(Burst(seed));
    EXPECT_GE(report.survivors, 2) << "burst " << seed;
    EXPECT_EQ(report.aborted, 0) << "burst " << seed;
    EXPECT_EQ(report.hung, 0) << "burst " << seed;
    EXPECT_EQ(report.wrong, 0) << "burst " << seed;
  }
}

}  // namespace
}  // namespace cohom::testing
