// A worker outside MPI: sums numbers that everybody can compute through an aggregator, and checks
// every word. What happened is one line of JSON a phase. It stays in its group until standard input
// ends, because an aggregator that loses a worker lets go of the others.

#include "aggregation/auth/site_auth.hpp"
#include "aggregation/client/network_aggregator.hpp"
#include "job_keys.hpp"
#include "offload_load.hpp"
#include "testing/packet_faults.hpp"
#if COHOM_HAVE_UCX
#include "ucx_transport/message_path.hpp"
#endif

#include <cohom/error.hpp>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>

namespace cohom::offload {
namespace {

using Clock = std::chrono::steady_clock;

struct CommandLine {
  std::string address;
  std::uint64_t job = 0;  ///< stands for a secret
  bool print_job =
      false;  ///< the number by which aggregators and packets know it, and nothing else
  GroupMembership membership{.job = test::job(0)};
  ClientOptions options;
  PacketFaults::Rates faults;
  test::Load load;
  int phases = 1;
  std::size_t later_calls = 0;  ///< of the phases behind the first
  double seconds_to_form = 20;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool wait_until_ready(Aggregator& aggregator, double seconds) {
  const auto start = Clock::now();
  while (!aggregator.ready()) {
    if (seconds_since(start) > seconds) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

nlohmann::ordered_json run_phase(NetworkAggregator& aggregator, const CommandLine& line,
                                 int phase) {
  nlohmann::ordered_json result;
  if (!wait_until_ready(aggregator, line.seconds_to_form)) {
    result["failure"] = "not ready: " + aggregator.why_not_ready();
    return result;
  }
  test::Load load = line.load;
  load.first_call += std::uint64_t(phase) << 32;
  if (phase > 0) load.calls = line.later_calls;
  const auto start = Clock::now();
  try {
    const auto done = test::run_load(aggregator, load, line.membership.rank, line.membership.ranks);
    result["wrong"] = done.wrong_words;
    result["words"] = done.words;
    result["call_seconds"] = done.call_seconds;
  } catch (const Error& error) {
    result["failure"] = error.what();
  }
  result["seconds"] = seconds_since(start);
  const PathCounters counters = aggregator.counters();
  result["sent"] = counters.sent;
  result["repeated"] = counters.repeated;
  result["waiting"] = counters.waiting;
  result["stale"] = counters.stale;
  result["foreign"] = counters.foreign;
  return result;
}

void run(const CommandLine& line) {
  if (line.print_job) {
    std::cout << test::job(line.job).id() << std::endl;
    return;
  }
  ClientOptions options = line.options;
  options.packet_order = PacketFaults::with(line.faults);
  GroupMembership membership = line.membership;
  membership.job = test::job(line.job);
#if COHOM_HAVE_UCX
  options.messages = [](const PathSetup& setup) { return ucx::make_message_path(setup); };
#endif
  NetworkAggregator aggregator(parse_endpoint(line.address, "--connect"), membership, options);
  for (int phase = 0; phase < line.phases; ++phase) {
    auto result = run_phase(aggregator, line, phase);
    // Another worker may learn late of the failure that ended the phase before, and end this one,
    // too.
    for (int again = 0; again < 10 && phase > 0 && result.contains("failure"); ++again)
      result = run_phase(aggregator, line, phase);
    std::cout << result.dump() << std::endl;
  }
  while (std::cin.get() != EOF) {
  }
}

void add_options(CLI::App& app, CommandLine& line) {
  app.add_option("--connect", line.address);
  app.add_flag("--print-job", line.print_job);
  app.add_option("--job", line.job);
  app.add_option("--group", line.membership.group);
  app.add_option("--rank", line.membership.rank);
  app.add_option("--ranks", line.membership.ranks);
  app.add_option("--payload", line.options.payload_bytes);
  app.add_option("--slots", line.options.slots);
  app.add_option("--message", line.options.message_bytes);
  app.add_option("--lose", line.faults.lose);
  app.add_option("--repeat", line.faults.repeat);
  app.add_option("--reorder", line.faults.reorder);
  app.add_option("--fault-seed", line.faults.seed);
  app.add_option("--calls", line.load.calls);
  app.add_option("--in-flight", line.load.in_flight);
  app.add_option("--reductions", line.load.reductions);
  app.add_option("--words", line.load.words);
  app.add_flag("--unchecked", line.load.unchecked);
  app.add_option("--phases", line.phases);
  app.add_option("--later-calls", line.later_calls);
  app.add_option("--pause", line.load.pause_milliseconds);
  app.add_option_function<int>("--silence", [&line](int milliseconds) {
    line.options.silence = std::chrono::milliseconds(milliseconds);
  });
  app.add_option_function<int>("--lateness", [&line](int milliseconds) {
    line.options.lateness = std::chrono::milliseconds(milliseconds);
  });
  app.add_option("--seconds-to-form", line.seconds_to_form);
}

}  // namespace
}  // namespace cohom::offload

int main(int argc, char** argv) {
  cohom::offload::CommandLine line;
  CLI::App app("A worker of an aggregator's tests.", "offload_worker");
  cohom::offload::add_options(app, line);
  try {
    app.parse(argc, argv);
    auto auth = cohom::offload::find_site_auth({});
    line.options.token = auth.token;
    line.options.munge = auth.munge;
    cohom::offload::run(line);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "offload_worker: %s\n", error.what());
    return 1;
  }
  return 0;
}
