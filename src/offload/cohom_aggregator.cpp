// cohom-aggregator: sums in the network what the ranks of jobs send to it (docs/offload.md).

#include "environment.hpp"
#include "log.hpp"
#include "offload/control_query.hpp"
#include "offload/control_server.hpp"
#include "offload/daemon_plane.hpp"
#include "offload/ebpf_plane.hpp"
#include "offload/serve_job.hpp"
#include "offload/stop_on_signal.hpp"

#include <cohom/error.hpp>
#include <cohom/version.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <arpa/inet.h>

#include <cstdio>
#include <memory>
#include <optional>
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
  std::optional<std::uint32_t> payload_bytes, group_slots;  ///< none: what suits the data plane
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

std::unique_ptr<DataPlane> make_plane(const CommandLine& line, const ServerSetup& setup) {
  if (!line.ebpf) {
    if (!line.ports.empty())
      throw Error(ErrorKind::invalid_argument, "--ports are for --ebpf; a daemon has none");
    return make_daemon_plane({.slots = line.slots,
                              .groups = line.limits.groups,
                              .payload_bytes = setup.limits.payload_bytes});
  }
  if (line.ports.empty())
    throw Error(ErrorKind::invalid_argument,
                "--ports is missing: the network devices on which packets enter the switch");
  if (setup.listen.sin_addr.s_addr == htonl(INADDR_ANY))
    throw Error(ErrorKind::invalid_argument,
                "--listen: the program in the kernel must know its address; 0.0.0.0 is none");
  if (setup.limits.payload_bytes > 8192)
    throw Error(ErrorKind::invalid_argument, "--payload is " +
                                                 std::to_string(setup.limits.payload_bytes) +
                                                 "; a packet has at most 8192 bytes of words");
  return make_ebpf_plane({.ports = line.ports,
                          .address = setup.listen,
                          .slots = line.slots,
                          .groups = line.limits.groups});
}

ServerSetup setup_of(const CommandLine& line) {
  ServerSetup setup;
  setup.limits = line.limits;
  setup.limits.payload_bytes = line.payload_bytes.value_or(line.ebpf ? 8192 : 56 << 10);
  setup.limits.group_slots = line.group_slots.value_or(line.ebpf ? 256 : 64);
  if (!line.parent.empty()) setup.parent = resolve(parse_endpoint(line.parent, "--parent"));
  return setup;
}

int serve(const CommandLine& line) {
  ServerSetup setup = setup_of(line);
  if (line.listen.empty()) {
    if (line.ebpf || setup.parent)
      throw Error(ErrorKind::invalid_argument, "--listen HOST:PORT is missing");
    return serve_job(setup, [&](const ServerSetup& whole) { return make_plane(line, whole); });
  }
  setup.listen = resolve(parse_endpoint(line.listen, "--listen"));
  setup.token = token();
  StopOnSignal::mask(SIG_BLOCK);
  const auto plane = make_plane(line, setup);
  ControlServer server(setup, *plane);
  const StopOnSignal stop(server);
  fmt::print("cohom-aggregator: {} on {}{}\n", plane->kind(), text_of(server.address()),
             setup.parent ? ", parent " + text_of(*setup.parent) : "");
  std::fflush(stdout);
  server.run();
  return 0;
}

void add_options(CLI::App& app, CommandLine& line) {
  app.add_flag(
      "--ebpf", line.ebpf,
      "the kernel sums, in a program on the ports (root); else this process does, and words "
      "come over UCX");
  app.add_option("--ports", line.ports,
                 "with --ebpf: network devices on which packets enter the switch")
      ->delimiter(',');
  app.add_option(
      "--listen", line.listen,
      "HOST:PORT of the control channel; with --ebpf packets come to the same port of UDP. "
      "Without it a daemon serves the MPI job that it is a part of");
  app.add_option("--parent", line.parent, "HOST:PORT of the aggregator above this one");
  app.add_option("--slots", line.slots, "packets or messages whose sums are kept at once")
      ->capture_default_str()
      ->check(CLI::Range(4, 65536));
  app.add_option("--group-slots", line.group_slots,
                 "of those, at most for one group (default: 64; with --ebpf 256)")
      ->check(CLI::Range(4, 65535));
  app.add_option("--payload", line.payload_bytes,
                 "most bytes of words in a message or packet (default: 57344; with --ebpf 8192)")
      ->check(CLI::Range(8, 256 << 10));
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
    if (!status->parsed()) return serve(line);
    print_status(line);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const cohom::Error& error) {
    fmt::print(stderr, "cohom-aggregator: {}\n", error.what());
    return error.kind() == cohom::ErrorKind::invalid_argument ? 2 : 1;
  }
  return 0;
}
