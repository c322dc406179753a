// An MPI program that makes random calls through an aggregator until rank 0's standard input ends,
// and compares the bits of every result with the same call by ring over MPI, and over all ranks.
// soak_test.py does the faults meanwhile. The last line of output is JSON: what came of the calls.

#include "hang_watch.hpp"
#include "soak_calls.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/mpi.hpp>
#include <cohom/plan.hpp>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>
#include <xxhash.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace cohom::test {
namespace {

struct CommandLine {
  std::string aggregator;
  std::uint64_t seed = 1;
  double hang_seconds = 60;
};

/// One way of making the calls. Both ways make the same ones in the same order, because the number
/// of a call is among what seeds its random draws.
class CallMode {
 public:
  CallMode(std::string name, HangWatch& watch)
      : name_(std::move(name)), watch_(watch), ranks_(mpi::communicator(MPI_COMM_WORLD)) {}

  [[nodiscard]] Communicator& ranks() { return ranks_; }

  /// All in flight together, and waited for in the order given; the results.
  template <class OptionsOf>
  std::vector<Bytes> run(const std::vector<SoakCall>& calls, const std::vector<Bytes>& inputs,
                         const std::vector<std::size_t>& order, const OptionsOf& options_of) {
    std::vector<Bytes> outputs(calls.size());
    std::vector<Running> running(calls.size());
    for (std::size_t i = 0; i < calls.size(); ++i)
      running[i] = start(calls[i], inputs[i], outputs[i], options_of(calls[i]));
    for (const std::size_t i : order) {
      watch_.now(fmt::format("{}: {}, one of {} in flight", name_, calls[i].text(), calls.size()));
      if (running[i].plan != nullptr)
        running[i].plan->wait();
      else
        running[i].request.wait();
    }
    return outputs;
  }

 private:
  struct Running {
    Request request;
    AllreducePlan* plan = nullptr;
  };

  Running start(const SoakCall& call, const Bytes& input, Bytes& output, const Options& options) {
    watch_.now(fmt::format("{}: the start of {}", name_, call.text()));
    output = call.in_place ? input : Bytes(input.size(), std::byte{0xee});
    const void* const from = call.in_place ? output.data() : input.data();
    if (call.plan < 0)
      return {allreduce_start(from, output.data(), call.count, call.type, ranks_, options)};
    if (call.new_plan) {
      plans_.erase(call.plan);
      plans_.try_emplace(call.plan, ranks_, call.count, call.type, options);
    }
    AllreducePlan& plan = plans_.at(call.plan);
    plan.start(from, output.data());
    return {{}, &plan};
  }

  std::string name_;
  HangWatch& watch_;
  Communicator ranks_;
  std::map<int, AllreducePlan> plans_;
};

class Soak {
 public:
  explicit Soak(const CommandLine& line)
      : line_(line),
        rank_(rank_of_world()),
        watch_(std::chrono::milliseconds(static_cast<int>(1000 * line.hang_seconds)), rank_),
        calls_(line.seed),
        own_random_(line.seed * 64 + static_cast<std::uint64_t>(rank_)),
        network_("network", watch_),
        reference_("reference", watch_) {}

  void run() {
    double next_word = MPI_Wtime() + 10;
    while (all_go_on(rank_ != 0 || !input_has_ended())) {
      batch();
      if (rank_ != 0 || MPI_Wtime() < next_word) continue;
      next_word = MPI_Wtime() + 10;
      print();
    }
    if (rank_ == 0) print();
  }

  [[nodiscard]] bool right() const { return wrong_ == 0; }

 private:
  static int rank_of_world() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
  }

  static bool input_has_ended() {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (poll(&input, 1, 0) <= 0) return false;
    char byte = 0;
    return read(STDIN_FILENO, &byte, 1) <= 0;
  }

  /// Rank 0's word.
  bool all_go_on(bool own_word) {
    watch_.now("the other ranks, between calls");
    int go_on = own_word ? 1 : 0;
    MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return go_on != 0;
  }

  void batch() {
    const std::vector<SoakCall> calls = calls_.next_batch();
    const int ranks = network_.ranks().ranks();
    std::vector<Bytes> inputs;
    for (const SoakCall& call : calls) inputs.push_back(call.input(rank_));
    // Ranks come at different times, and wait in an order of their own.
    if (own_random_() % 8 == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(own_random_() % 40));
    std::vector<std::size_t> order(calls.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::shuffle(order, own_random_);
    const auto found = network_.run(
        calls, inputs, order, [&](const SoakCall& call) { return call.options(line_.aggregator); });
    const auto expected = reference_.run(
        calls, inputs, order, [&](const SoakCall& call) { return call.reference_options(ranks); });
    compare(calls, found, expected);
  }

  void compare(const std::vector<SoakCall>& calls, const std::vector<Bytes>& found,
               const std::vector<Bytes>& expected) {
    watch_.now("the other ranks, comparing results");
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const std::uint64_t hash = XXH3_64bits(found[i].data(), found[i].size());
      // The least of these is the complement of the greatest.
      std::array<std::uint64_t, 3> least{hash, ~hash, found[i] == expected[i] ? 1u : 0u};
      MPI_Allreduce(MPI_IN_PLACE, least.data(), int(least.size()), MPI_UINT64_T, MPI_MIN,
                    MPI_COMM_WORLD);
      ++made_;
      const bool same = least[0] == ~least[1];
      if (same && least[2] == 1) continue;
      ++wrong_;
      if (rank_ == 0)
        fmt::print("WRONG: {}: {}\n", calls[i].text(),
                   same ? "not the reference's bits" : "ranks differ");
    }
  }

  void print() {
    const OffloadCounters counters = network_.ranks().offload_counters();
    const nlohmann::ordered_json json{{"calls", made_},
                                      {"offloaded", counters.offloaded},
                                      {"repeated", counters.repeated},
                                      {"declined", counters.declined},
                                      {"wrong", wrong_}};
    fmt::print("{}\n", json.dump());
    std::fflush(stdout);
  }

  CommandLine line_;
  int rank_;
  HangWatch watch_;
  SoakCalls calls_;
  std::mt19937_64 own_random_;
  CallMode network_, reference_;
  std::uint64_t made_ = 0, wrong_ = 0;
};

CommandLine parse(int argc, char** argv) {
  CommandLine line;
  CLI::App app("Random calls through an aggregator, compared with a ring.", "offload_soak");
  app.add_option("--aggregator", line.aggregator)->required();
  app.add_option("--seed", line.seed);
  app.add_option("--hang-seconds", line.hang_seconds);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  return line;
}

}  // namespace
}  // namespace cohom::test

int main(int argc, char** argv) {
  const auto line = cohom::test::parse(argc, argv);
  MPI_Init(&argc, &argv);
  bool right = false;
  try {
    cohom::test::Soak soak(line);
    soak.run();
    right = soak.right();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "offload_soak: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return right ? 0 : 1;
}
