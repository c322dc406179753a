// How soon calls go the fastest way when links become slower or faster in between.

#include "bench_options.hpp"
#include "mpi_program.hpp"
#include "some_values.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/mpi.hpp>

#include <fmt/format.h>
#include <mpi.h>
#include <CLI/CLI.hpp>

#include <sys/wait.h>

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
  std::string sizes = "128K";
  CLI::App app(
      "Makes calls with native=auto. Then rank 0 runs the first COMMAND, which changes the links,\n"
      "while no call is under way; then come as many calls again, and so on for each COMMAND.\n"
      "Prints a line each time: the ways of the first 60 calls (n: native, r: raw in place of the\n"
      "codec, c: the codec), how many later ones went which way, and the median of their times.",
      "rate_change");
  app.add_option("--codec", options.codec, "codec spec")
      ->check(some_codec())
      ->capture_default_str();
  app.add_option("--size", sizes, "bytes of the vector: N, NK or NM")->capture_default_str();
  app.add_option("--calls", options.calls, "of a phase, at least 100")
      ->check(whole_number(100))
      ->capture_default_str();
  app.add_option("COMMAND", options.commands, "shell commands, each run between two phases");
  if (auto information = parse(app, argc, argv)) return *information;
  const std::vector<std::size_t> bytes = parse_sizes(sizes, ElementType::f32);
  if (bytes.size() != 1) throw UsageError("--size '" + sizes + "' should be one number of bytes");
  options.bytes = bytes.front();
  return options;
}

struct Phase {
  std::string ways;             ///< a letter a call
  std::vector<double> seconds;  ///< of each call, on this rank
};

Phase phase_of(const RateChangeOptions& options, Communicator& communicator) {
  using Clock = std::chrono::steady_clock;
  const std::vector<float> input = some_values(options.bytes / sizeof(float));
  std::vector<float> output(input.size());
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

void print(const Phase& phase, const std::string& label) {
  constexpr std::size_t shown = 60;
  const std::string later = phase.ways.substr(shown);
  std::vector<double> seconds(phase.seconds.begin() + shown, phase.seconds.end());
  std::ranges::nth_element(seconds, seconds.begin() + std::ptrdiff_t(seconds.size() / 2));
  const auto count = [&](char way) { return std::ranges::count(later, way); };
  fmt::print("{}: {}, then {} native, {} raw, {} by the codec, {:.3f} ms\n", label,
             phase.ways.substr(0, shown), count('n'), count('r'), count('c'),
             1e3 * seconds[seconds.size() / 2]);
  std::fflush(stdout);
}

/// Whether it ended well, on all ranks.
bool run_command(const std::string& command, Communicator& communicator) {
  // Its output may be a table of links.
  int status =
      communicator.rank() == 0 ? std::system(("(" + command + "\n) >/dev/null").c_str()) : 0;
  MPI_Bcast(&status, 1, MPI_INT, 0, mpi::program_ranks());
  if (status != 0 && communicator.rank() == 0)
    fmt::print(stderr, "rate_change: {}: {} {}\n", command,
               WIFEXITED(status) ? "exit status" : "ended by signal",
               WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
  return status == 0;
}

int run(const RateChangeOptions& options, Communicator& communicator) {
  const bool prints = communicator.rank() == 0;
  std::string label = "at first";
  for (std::size_t i = 0;; ++i) {
    const Phase phase = phase_of(options, communicator);
    if (prints) print(phase, label);
    if (i == options.commands.size()) return 0;
    label = options.commands[i];
    if (!run_command(label, communicator)) return 1;
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
