#include "ucx_burst.hpp"

#include "forked_ranks.hpp"
#include "ucx_transport/transport.hpp"

#include <cohom/allreduce.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <memory>
#include <random>
#include <span>
#include <thread>

namespace cohom::testing {

namespace {

/// After which a survivor gives up another one that met an error before it sent what is waited for.
constexpr double seconds_to_give_up = 2;
constexpr int calls_enough_for_all_deaths = 100000;

enum Outcome : int { as_it_should_be = 0, wrong = 1 };

class Rank {
 public:
  Rank(const Burst& burst, int rank, ProcessBoard& all, ProcessBoard& survivors)
      : burst_(burst), rank_(rank), all_(all), survivors_(survivors) {}

  Outcome live() {
    Communicator communicator(transport(rank_, burst_.ranks, all_));
    std::vector<float> data(burst_.elements, 1.0f);
    if (burst_.connected) allreduce(std::span(data), communicator, by("direct"));
    all_.wait_for_all(burst_.ranks);
    const std::jthread death = die_in_time();
    try {
      for (int call = 0; call < calls_enough_for_all_deaths; ++call)
        allreduce(std::span(data), communicator, by(algorithm(call), seconds_to_give_up));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::transport) throw;
      if (burst_.dies(rank_)) pause();
      return burst_.survivors_go_on ? go_on() : as_it_should_be;
    }
    return wrong;
  }

 private:
  [[nodiscard]] static Options by(const char* algorithm, double timeout = 0) {
    return {.codec = "raw", .algorithm = algorithm, .timeout = timeout};
  }

  [[nodiscard]] const char* algorithm(int call) const {
    constexpr std::array names = {"recursive_doubling", "direct", "tree", "ring"};
    return burst_.survivors_go_on ? "direct"
                                  : names[(burst_.seed + static_cast<std::uint64_t>(call)) % 4];
  }

  std::shared_ptr<ucx::UcxTransport> transport(int rank, int ranks, ProcessBoard& board) {
    const auto worker = [this] {
      if (!worker_)
        worker_ = std::make_shared<ucx::Worker>(ucx::ContextSettings{.transports = "tcp,self"});
      return worker_;
    };
    return std::make_shared<ucx::UcxTransport>(worker, rank, ranks, board.exchange(rank, ranks));
  }

  [[nodiscard]] std::jthread die_in_time() const {
    const auto death = std::ranges::find(burst_.deaths, rank_, &Burst::Death::rank);
    if (death == burst_.deaths.end()) return {};
    return std::jthread([time = std::chrono::microseconds(death->microseconds)] {
      std::this_thread::sleep_for(time);
      kill(getpid(), SIGKILL);
    });
  }

  /// A group without the dead, on the connections that there are.
  Outcome go_on() {
    int ranks = 0, own = 0;
    for (int rank = 0; rank < burst_.ranks; ++rank) {
      if (rank == rank_) own = ranks;
      ranks += burst_.dies(rank) ? 0 : 1;
    }
    Communicator communicator(transport(own, ranks, survivors_));
    std::vector<float> data(burst_.elements, 1.0f);
    allreduce(std::span(data), communicator, by("direct"));
    survivors_.wait_for_all(ranks);
    return std::ranges::all_of(data, [&](float sum) { return sum == static_cast<float>(ranks); })
               ? as_it_should_be
               : wrong;
  }

  const Burst& burst_;
  int rank_;
  ProcessBoard& all_;
  ProcessBoard& survivors_;
  std::shared_ptr<ucx::Worker> worker_;
};

}  // namespace

Burst::Burst(std::uint64_t number) : seed(number) {
  std::mt19937_64 random(seed);
  const auto from_to = [&](int least, int most) {
    return least + static_cast<int>(random() % static_cast<std::uint64_t>(most - least + 1));
  };
  ranks = from_to(4, static_cast<int>(ProcessBoard::max_ranks));
  std::vector<int> order(static_cast<std::size_t>(ranks));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  std::ranges::shuffle(order, random);
  constexpr std::array longest = {100, 1000, 5000, 20000};
  const int max_microseconds = longest[random() % longest.size()];
  for (int death = from_to(2, ranks - 2); death > 0; --death)
    deaths.push_back({.rank = order[static_cast<std::size_t>(death)],
                      .microseconds = from_to(0, max_microseconds)});
  elements = std::size_t{10} << from_to(0, 12);
  connected = from_to(0, 3) == 0;
  survivors_go_on = from_to(0, 1) == 0;
}

bool Burst::dies(int rank) const {
  return std::ranges::find(deaths, rank, &Death::rank) != deaths.end();
}

BurstReport run_burst(const Burst& burst) {
  const auto all = make_process_board();
  const auto survivors = make_process_board();
  std::vector<pid_t> processes;
  for (int rank = 0; rank < burst.ranks; ++rank)
    processes.push_back(fork_rank([&] { return Rank(burst, rank, *all, *survivors).live(); }));
  BurstReport report;
  for (std::size_t rank = 0; rank < processes.size(); ++rank) {
    int status = 0;
    waitpid(processes[rank], &status, 0);
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (signal == SIGKILL && burst.dies(static_cast<int>(rank))) continue;
    ++report.survivors;
    report.hung += signal == SIGALRM;
    report.aborted += signal != 0 && signal != SIGALRM;
    report.wrong += signal == 0 && WEXITSTATUS(status) != as_it_should_be;
  }
  return report;
}

}  // namespace cohom::testing
