// cohom-aggregator: sums in the network what the ranks of jobs send to it (docs/offload.md).

#include "environment.hpp"
#include "log.hpp"
#include "offload/control_query.hpp"
#include "offload/control_server.hpp"
#include "offload/ebpf_plane.hpp"

#include <cohom/error.hpp>
#include <cohom/version.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <arpa/inet.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

namespace cohom::offload {
namespace {

struct CommandLine {
  bool ebpf = false;
  std::vector<std::string> ports;
  std::string listen;
  std::string parent;
  std::uint32_t slots = 1024;
  ServerLimits limits;
  // status
  std::string address;
  bool json = false;
};

std::string token() {
  std::string token = option_or_environment({}, "COHOM_AGGREGATOR_TOKEN", "");
  if (token.empty())
    throw Error(ErrorKind::invalid_argument,
                "COHOM_AGGREGATOR_TOKEN is not set; it should be a secret that the aggregator and "
                "its jobs share");
  return token;
}

void print_status(const CommandLine& line) {
  const Endpoint endpoint = parse_endpoint(
      option_or_environment(line.address, "COHOM_AGGREGATOR", ""), "the aggregator's address");
  const auto status = nlohmann::ordered_json::parse(query_status(resolve(endpoint), token()));
  if (line.json) {
    fmt::print("{}\n", status.dump(1));
    return;
  }
  for (const auto& [name, value] : status.items())
    if (!value.is_structured()) fmt::print("{}: {}\n", name, value.dump());
  for (const auto& group : status["groups"])
    fmt::print(
        "job {:x} group {}: {}, {} of {} workers, {} slots of {} bytes, {} contributions, {} "
        "sums\n",
        group["job"].get<std::uint64_t>(), group["group"].get<std::uint32_t>(),
        group["state"].get<std::string>(), group["joined"].get<std::uint32_t>(),
        group["workers"].get<std::uint32_t>(), group["slots"].get<std::uint32_t>(),
        group["payload_bytes"].get<std::uint32_t>(), group["contributions"].get<std::uint64_t>(),
        group["sums"].get<std::uint64_t>());
  for (const auto& [name, count] : status["packets"].items())
    if (count != 0) fmt::print("packets {}: {}\n", name, count.dump());
}

/// Ends the server when a signal says so.
class StopOnSignal {
 public:
  explicit StopOnSignal(ControlServer& server) {
    server_ = &server;
    struct sigaction action {};
    action.sa_handler = [](int) { server_.load()->stop(); };
    for (const int number : numbers) sigaction(number, &action, nullptr);
    mask(SIG_UNBLOCK);
  }
  ~StopOnSignal() { mask(SIG_BLOCK); }
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  /// Signals wait: what has been put on ports is to be taken away.
  static void mask(int how) {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int number : numbers) sigaddset(&signals, number);
    pthread_sigmask(how, &signals, nullptr);
  }

 private:
  static constexpr std::array numbers{SIGTERM, SIGINT, SIGHUP};
  inline static std::atomic<ControlServer*> server_ = nullptr;
};

void serve(const CommandLine& line) {
  ServerSetup setup;
  setup.listen = resolve(parse_endpoint(line.listen, "--listen"));
  setup.token = token();
  setup.limits = line.limits;
  if (!line.parent.empty()) setup.parent = resolve(parse_endpoint(line.parent, "--parent"));
  if (!line.ebpf)
    throw Error(ErrorKind::invalid_argument, "nothing to sum with; give --ebpf --ports DEVICE,...");
  if (setup.listen.sin_addr.s_addr == htonl(INADDR_ANY))
    throw Error(ErrorKind::invalid_argument,
                "--listen: the program in the kernel must know its address; 0.0.0.0 is none");
  StopOnSignal::mask(SIG_BLOCK);
  const auto plane = make_ebpf_plane({.ports = line.ports,
                                      .address = setup.listen,
                                      .slots = line.slots,
                                      .groups = line.limits.groups});
  ControlServer server(setup, *plane);
  const StopOnSignal stop(server);
  fmt::print("cohom-aggregator: {} on {}{}\n", plane->kind(), text_of(server.address()),
             setup.parent ? ", parent " + text_of(*setup.parent) : "");
  std::fflush(stdout);
  server.run();
}

void add_options(CLI::App& app, CommandLine& line) {
  app.add_flag("--ebpf", line.ebpf, "the kernel sums, in a program on the ports (root)");
  app.add_option("--ports", line.ports, "network devices on which packets enter the switch")
      ->delimiter(',');
  app.add_option("--listen", line.listen,
                 "HOST:PORT of the control channel; packets come to the same port of UDP");
  app.add_option("--parent", line.parent, "HOST:PORT of the aggregator above this one");
  app.add_option("--slots", line.slots, "packets whose sums are kept at once")
      ->capture_default_str()
      ->check(CLI::Range(4, 65536));
  app.add_option("--group-slots", line.limits.group_slots, "of those, at most for one group")
      ->capture_default_str()
      ->check(CLI::Range(4, 65535));
  app.add_option("--payload", line.limits.payload_bytes, "most bytes of words in a packet")
      ->capture_default_str()
      ->check(CLI::Range(8, 8192));
  app.add_option("--groups", line.limits.groups, "most groups at once")
      ->capture_default_str()
      ->check(CLI::Range(1, 4096));
  app.add_option("--jobs", line.limits.jobs, "most jobs at once")
      ->capture_default_str()
      ->check(CLI::Range(1, 4096));
  app.add_option_function<double>(
         "--patience",
         [&line](double seconds) {
           line.limits.patience = std::chrono::milliseconds(static_cast<long>(1000 * seconds));
         },
         "seconds that a group may take to form (default: 30)")
      ->check(CLI::Range(0.1, 3600.0));
  app.footer("The token that jobs must show is in COHOM_AGGREGATOR_TOKEN.");
  app.set_version_flag("--version", std::string("cohom-aggregator ") + version_string);
}

}  // namespace
}  // namespace cohom::offload

int main(int argc, char** argv) {
  using namespace cohom::offload;
  CommandLine line;
  CLI::App app("Sums in the network what the ranks of cohom's jobs send to it.",
               "cohom-aggregator");
  add_options(app, line);
  CLI::App* const status = app.add_subcommand("status", "show jobs, groups and counters");
  status->add_flag("--json", line.json, "as JSON");
  status->add_option("address", line.address, "HOST:PORT (default: COHOM_AGGREGATOR)");
  try {
    app.parse(argc, argv);
    status->parsed() ? print_status(line) : serve(line);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const cohom::Error& error) {
    fmt::print(stderr, "cohom-aggregator: {}\n", error.what());
    return error.kind() == cohom::ErrorKind::invalid_argument ? 2 : 1;
  }
  return 0;
}
