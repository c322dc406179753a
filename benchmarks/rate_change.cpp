// How soon calls go the right way when links become slower or faster in between.

#include "bench_options.hpp"
#include "mpi_program.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/mpi.hpp>

#include <fmt/format.h>
#include <mpi.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <variant>
#include <vector>

namespace cohom::bench {
namespace {

struct RateChangeOptions {
  std::string codec = "thc";
  std::size_t bytes = 0;
  int calls = 400;
  std::vector<std::string> commands;
};

std::variant<RateChangeOptions, Information> parse_rate_change_options(int argc,
                                                                       const char* const* argv) {
  RateChangeOptions options;
  std::string size = "128K";
  CLI::App app(
      "Makes calls with native=auto, then rank 0 runs a command that changes the links while no\n"
      "call is under way, and so on. A line a phase: the ways of its first 60 calls (n: native,\n"
      "r: raw in place of the codec, c: the codec), how many of the others went so, and how long\n"
      "the middle call of these took.",
      "rate_change");
  app.add_option("--codec", options.codec, "codec spec")
      ->check(some_codec())
      ->capture_default_str();
  app.add_option("--size", size, "bytes of the vector: N, NK or NM")->capture_default_str();
  app.add_option("--calls", options.calls, "of a phase")
      ->check(whole_number(100))
      ->capture_default_str();
  app.add_option("COMMAND", options.commands, "shell commands, each run between two phases");
  if (auto information = parse(app, argc, argv)) return *information;
  options.bytes = parse_sizes(size, ElementType::f32).front();
  return options;
}

struct Phase {
  std::string ways;             ///< a letter a call
  std::vector<double> seconds;  ///< of each call, on this rank
};

Phase phase_of(const RateChangeOptions& options, Communicator& communicator) {
  using Clock = std::chrono::steady_clock;
  std::vector<float> input(options.bytes / sizeof(float)), output(input.size());
  for (std::size_t i = 0; i < input.size(); ++i)
    input[i] = static_cast<float>(i * 2654435761u % 1009) / 504.5f - 1;
  Phase phase;
  for (int call = 0; call < options.calls; ++call) {
    const std::uint64_t native = communicator.native_calls(), raw = communicator.bypassed_calls();
    const Clock::time_point began = Clock::now();
    allreduce(input, output, communicator, {.codec = options.codec, .native = "auto"});
    phase.seconds.push_back(std::chrono::duration<double>(Clock::now() - began).count());
    phase.ways += communicator.native_calls() != native  ? 'n'
                  : communicator.bypassed_calls() != raw ? 'r'
                                                         : 'c';
  }
  return phase;
}

void print(const Phase& phase, const std::string& links) {
  constexpr std::size_t shown = 60;
  const std::string later = phase.ways.substr(shown);
  std::vector<double> seconds(phase.seconds.begin() + shown, phase.seconds.end());
  std::ranges::nth_element(seconds, seconds.begin() + std::ptrdiff_t(seconds.size() / 2));
  const auto count = [&](char way) { return std::ranges::count(later, way); };
  fmt::print("{}: {}, then {} native, {} raw, {} by the codec, {:.3f} ms\n", links,
             phase.ways.substr(0, shown), count('n'), count('r'), count('c'),
             1e3 * seconds[seconds.size() / 2]);
  std::fflush(stdout);
}

/// Whether it ended well, on all ranks.
bool run_command(const std::string& command, Communicator& communicator) {
  // Its output may be a table of links.
  int status = communicator.rank() == 0 ? std::system((command + " >/dev/null").c_str()) : 0;
  MPI_Bcast(&status, 1, MPI_INT, 0, mpi::program_ranks());
  if (status != 0 && communicator.rank() == 0)
    fmt::print(stderr, "rate_change: {}: status {}\n", command, status);
  return status == 0;
}

int run(const RateChangeOptions& options, Communicator& communicator) {
  const bool prints = communicator.rank() == 0;
  std::string links = "at first";
  for (std::size_t i = 0;; ++i) {
    const Phase phase = phase_of(options, communicator);
    if (prints) print(phase, links);
    if (i == options.commands.size()) return 0;
    links = options.commands[i];
    if (!run_command(links, communicator)) return 1;
  }
}

}  // namespace
}  // namespace cohom::bench

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int status = cohom::bench::run_program(
      "rate_change", argc, argv, cohom::bench::parse_rate_change_options, cohom::bench::run);
  MPI_Finalize();
  return status;
}
