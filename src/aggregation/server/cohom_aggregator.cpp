// cohom-aggregator: sums in the network what the ranks of jobs send to it (docs/offload.md).

#include "aggregation/auth/job_key_file.hpp"
#include "aggregation/auth/site_auth.hpp"
#include "aggregation/auth/token_source.hpp"
#include "aggregation/server/control_query.hpp"
#include "aggregation/server/control_server.hpp"
#include "aggregation/server/daemon_plane.hpp"
#include "aggregation/server/ebpf_plane.hpp"
#include "aggregation/server/memory_limit.hpp"
#include "aggregation/server/network_device.hpp"
#include "aggregation/server/serve_job.hpp"
#include "aggregation/server/status_text.hpp"
#include "aggregation/server/stop_on_signal.hpp"
#include "aggregation/server/supervisor.hpp"
#include "base/core_files.hpp"
#include "base/environment.hpp"
#include "base/known_names.hpp"
#include "base/log.hpp"
#include "base/standard_output.hpp"

#include <cohom/error.hpp>
#include <cohom/version.hpp>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <CLI/CLI.hpp>

#include <arpa/inet.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cohom::offload {
namespace {

/// Of a predecessor that was killed, whose child ends a moment later.
constexpr std::chrono::milliseconds patience_with_port{2000};

// The memory of a daemon (docs/aggregator.md). Sums that are made and sent take two payloads a
// slot; of floats that wait for their turn there is one more for each other rank.
constexpr std::uint64_t memory_besides_payloads = 128 << 20;  ///< connections, and what UCX buffers
constexpr std::uint64_t payloads_a_slot = 10;

struct CommandLine {
  bool ebpf = false;
  std::vector<std::string> ports;
  std::string listen;
  std::string parent;
  std::uint32_t slots = 1024;
  std::optional<std::uint32_t> payload_bytes, group_slots;  ///< none: what suits the data plane
  std::optional<std::uint32_t> memory_mebibytes;            ///< of a daemon; none: memory_bytes()
  ServerLimits limits;
  AuthOptions auth;
  std::string operator_token_file;
  // status
  std::string address, job_key_file;
  bool json = false;
};

SiteAuth site_auth(const CommandLine& line) {
  SiteAuth auth = find_site_auth(line.auth);
  if (auth.token.empty() && !auth.munge)
    throw Error(ErrorKind::invalid_argument,
                "COHOM_AGGREGATOR_TOKEN is not set, and no --token-file given; it should be a "
                "secret that the aggregator and its jobs share");
  return auth;
}

std::string token_of_operator(const CommandLine& line) {
  return find_token(line.operator_token_file, "--operator-token-file", operator_token_variables);
}

void refuse_one_token_for_both(const ServerSetup& setup) {
  if (!setup.token.empty() && setup.token == setup.operator_token)
    throw Error(ErrorKind::invalid_argument,
                std::string("the operators' token (--operator-token-file, ") +
                    operator_token_variables.file + ", " + operator_token_variables.token +
                    ") is the site's (--token-file, " + site_token_variables.file + ", " +
                    site_token_variables.token +
                    "), so every member would be an operator; they should differ");
}

/// One for each key of a job; they are asked one after another.
std::vector<StatusQuery> status_queries(const CommandLine& line) {
  if (!line.job_key_file.empty()) {
    if (!line.operator_token_file.empty())
      throw Error(ErrorKind::invalid_argument,
                  "--job-key-file is '" + line.job_key_file +
                      "', and --operator-token-file shows the groups of all jobs; one of them "
                      "should be given");
    const SiteAuth auth = site_auth(line);
    std::vector<StatusQuery> queries;
    for (const JobSecret& secret : read_job_secrets(line.job_key_file, "--job-key-file"))
      queries.push_back({.token = auth.token, .job = JobKey(secret), .munge = auth.munge});
    return queries;
  }
  StatusQuery query{.token = token_of_operator(line), .credential = Credential::operator_token};
  if (!query.token.empty()) return {query};
  const SiteAuth auth = site_auth(line);
  return {{.token = auth.token, .munge = auth.munge}};
}

void print_status(const CommandLine& line) {
  const Endpoint endpoint = parse_endpoint(
      option_or_environment(line.address, "COHOM_AGGREGATOR", ""), "the aggregator's address");
  const std::vector<StatusQuery> queries = status_queries(line);
  const sockaddr_in address = resolve(endpoint);
  std::vector<std::string> answers;
  for (const StatusQuery& query : queries) answers.push_back(query_status(address, query));
  try {
    fmt::print("{}", status_text(answers, line.json));
  } catch (const Error& error) {
    throw Error(error.kind(), "aggregator " + endpoint.text() + ": " + error.what());
  }
}

void refuse_ports(const CommandLine& line) {
  if (!line.ports.empty())
    throw Error(ErrorKind::invalid_argument, "--ports are for --ebpf; a daemon has none");
}

std::unique_ptr<DataPlane> make_daemon(const CommandLine& line, const ServerSetup& setup) {
  refuse_ports(line);
  DaemonSetup daemon{.slots = line.slots,
                     .groups = line.limits.groups,
                     .payload_bytes = setup.limits.payload_bytes};
  // Whoever reaches a port of UCX can end the process. The user's own word is about cohom alone:
  // that for all of UCX is mostly about the ranks.
  if (!line.listen.empty() && std::getenv("COHOM_UCX_NET_DEVICES") == nullptr) {
    daemon.devices = device_of(setup.listen);
    if (!daemon.devices.empty())
      log().info("UCX listens on device {} alone; COHOM_UCX_NET_DEVICES names others",
                 daemon.devices);
    else if (std::getenv("UCX_NET_DEVICES") == nullptr)
      warn_once(
          "UCX listens on all devices, since none has the address of --listen; "
          "COHOM_UCX_NET_DEVICES names one");
  }
  return make_daemon_plane(daemon);
}

std::unique_ptr<DataPlane> make_plane(const CommandLine& line, const ServerSetup& setup) {
  if (!line.ebpf) return make_daemon(line, setup);
  if (line.memory_mebibytes)
    throw Error(ErrorKind::invalid_argument,
                "--memory is " + std::to_string(*line.memory_mebibytes) +
                    ", and is for a daemon; with --ebpf the kernel sums, in memory of its own");
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

/// What a daemon may take once it serves.
std::uint64_t memory_bytes(const CommandLine& line, const ServerSetup& setup) {
  if (line.memory_mebibytes) return std::uint64_t{*line.memory_mebibytes} << 20;
  return memory_besides_payloads +
         payloads_a_slot * std::uint64_t{line.slots} * setup.limits.payload_bytes;
}

void refuse_limits_that_do_not_fit(const CommandLine& line) {
  if (line.group_slots && *line.group_slots > line.slots)
    throw Error(ErrorKind::invalid_argument,
                fmt::format("--group-slots is {}, and --slots is {}; one group should have at most "
                            "all slots",
                            *line.group_slots, line.slots));
  if (line.payload_bytes && *line.payload_bytes % sizeof(std::uint64_t) != 0)
    throw Error(ErrorKind::invalid_argument,
                fmt::format("--payload is {}; it should be a multiple of 8, as words have 8 bytes",
                            *line.payload_bytes));
}

ServerSetup setup_of(const CommandLine& line) {
  ServerSetup setup;
  setup.limits = line.limits;
  refuse_limits_that_do_not_fit(line);
  setup.limits.payload_bytes = line.payload_bytes.value_or(line.ebpf ? 8192 : 56 << 10);
  setup.limits.group_slots = line.group_slots.value_or(line.ebpf ? 256 : 64);
  if (!line.parent.empty()) setup.parent = resolve(parse_endpoint(line.parent, "--parent"));
  return setup;
}

/// They would have the tokens in them, and anybody who reaches a port of UCX can have one made.
void forbid_core_files() {
  const std::string cores = option_or_environment({}, "COHOM_AGGREGATOR_CORES", "0");
  if (cores == "1") return;
  if (cores != "0")
    throw Error(ErrorKind::invalid_argument,
                "COHOM_AGGREGATOR_CORES is '" + cores + "'; it should be 1 (core files) or 0");
  if (!have_no_core_files()) throw_system_error("the limit of core files");
}

/// `supervisor` is that of a daemon.
int serve_here(const CommandLine& line, const ServerSetup& setup, const Supervisor* supervisor) {
  StopOnSignal::mask(SIG_BLOCK);
  const auto plane = make_plane(line, setup);
  ControlServer server(setup, *plane);
  std::optional<MemoryWatch> watch;
  if (supervisor != nullptr) {
    const std::uint64_t more = memory_bytes(line, setup);
    watch.emplace(limit_memory(more), more);
  }
  const StopOnSignal stop(server);
  if (setup.munge)
    log().info("members prove themselves by munge, as {}", setup.munge->text());
  else
    log().info("members prove themselves by the site's token");
  if (setup.restarts == 0)
    fmt::print("cohom-aggregator: {} on {}{}\n", plane->kind(), text_of(server.address()),
               setup.parent ? ", parent " + text_of(*setup.parent) : "");
  std::fflush(stdout);
  if (supervisor != nullptr) supervisor->serving();
  server.run();
  return 0;
}

/// Whether who listens there is found at `address`.
bool leads_to(const sockaddr_in& listen, const sockaddr_in& address) {
  if (listen.sin_port != address.sin_port) return false;
  if (listen.sin_addr.s_addr == address.sin_addr.s_addr) return true;
  if (address.sin_addr.s_addr == htonl(INADDR_ANY)) return true;  // this host
  return listen.sin_addr.s_addr == htonl(INADDR_ANY) && !device_of(address).empty();
}

int serve(const CommandLine& line) {
  ServerSetup setup = setup_of(line);
  if (line.listen.empty()) {
    if (line.ebpf || setup.parent)
      throw Error(ErrorKind::invalid_argument, "--listen HOST:PORT is missing");
    return serve_job(setup, [&](const ServerSetup& whole) { return make_plane(line, whole); });
  }
  setup.listen = resolve(parse_endpoint(line.listen, "--listen"));
  if (setup.parent && leads_to(setup.listen, *setup.parent))
    throw Error(ErrorKind::invalid_argument, "--parent is " + text_of(*setup.parent) +
                                                 ", which is --listen; an aggregator is not "
                                                 "its own parent");
  forbid_core_files();
  const SiteAuth auth = site_auth(line);
  setup.token = auth.token;
  setup.munge = auth.munge;
  setup.operator_token = token_of_operator(line);
  refuse_one_token_for_both(setup);
  if (line.ebpf) return serve_here(line, setup, nullptr);
  refuse_ports(line);
  // The parent keeps the port, so that nobody else gets it meanwhile.
  const FileDescriptor listener = listen_on(setup.listen, patience_with_port);
  Supervisor supervisor;
  if (const auto status = supervisor.run()) return *status;
  setup.listener = listener.get();
  setup.restarts = supervisor.restarts();
  return serve_here(line, setup, &supervisor);
}

/// CLI11 itself drops the empty items of a list.
void add_ports(CommandLine& line, const std::vector<std::string>& lists) {
  for (const std::string& list : lists)
    for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
      end = list.find(',', begin);
      line.ports.push_back(list.substr(begin, end - begin));
      if (line.ports.back().empty())
        throw CLI::ValidationError("--ports", "'" + list + "' has an empty item; write a,b,c");
    }
}

void add_options(CLI::App& app, CommandLine& line) {
  app.add_flag(
      "--ebpf", line.ebpf,
      "the kernel sums, in a program on the ports (root); else this process does, and words "
      "come over UCX");
  app.add_option_function<std::vector<std::string>>(
      "--ports", [&line](const std::vector<std::string>& lists) { add_ports(line, lists); },
      "with --ebpf: comma list of network devices on which packets enter the switch");
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
  app.add_option("--memory", line.memory_mebibytes,
                 "MiB that a daemon may take once it serves (default: 128 and ten payloads a slot)")
      ->check(CLI::Range(16, 1 << 20));
  app.add_option("--groups", line.limits.groups, "most groups at once")
      ->capture_default_str()
      ->check(CLI::Range(1, 4096));
  app.add_option("--jobs", line.limits.jobs, "most jobs at once")
      ->capture_default_str()
      ->check(CLI::Range(1, 4096));
  app.add_option_function<double>(
         "--patience",
         [&line](double seconds) {
           if (std::isnan(seconds))  // it is in any range
             throw CLI::ValidationError("--patience", "'nan' is no number of seconds");
           line.limits.patience = std::chrono::milliseconds(static_cast<long>(1000 * seconds));
         },
         "seconds that a group may take to form (default: 30)")
      ->check(CLI::Range(0.1, 3600.0));
  app.add_option("--connections", line.limits.connections,
                 "most connections at once; one address gets a quarter of them")
      ->capture_default_str()
      ->check(CLI::Range(8, 1 << 16));
  app.add_option("--auth", line.auth.auth,
                 "how members and this program prove themselves: token or munge (default: "
                 "COHOM_AGGREGATOR_AUTH, else token)");
  app.add_option("--munge-users", line.auth.munge_users,
                 "with --auth munge: NAME,... of the users who may come, or any (default: "
                 "COHOM_AGGREGATOR_MUNGE_USERS, else this user and root)");
  app.add_option("--token-file", line.auth.token_file,
                 "a file, of mode 600, with the token that jobs must know (default: "
                 "COHOM_AGGREGATOR_TOKEN_FILE, or the token in COHOM_AGGREGATOR_TOKEN)");
  app.add_option("--operator-token-file", line.operator_token_file,
                 "the same for the token of those whom `status` tells of all jobs (default: "
                 "COHOM_AGGREGATOR_OPERATOR_TOKEN_FILE or COHOM_AGGREGATOR_OPERATOR_TOKEN)");
  app.set_version_flag("--version", std::string("cohom-aggregator ") + version_string);
}

/// Of --help, --version and a command line that is none.
int exit_status(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() != 0) {
    fmt::print(stderr, "cohom-aggregator: {} (see cohom-aggregator --help)\n", error.what());
    return 2;
  }
  app.exit(error);
  try {
    flush_standard_output();
    return 0;
  } catch (const std::exception& failure) {
    fmt::print(stderr, "cohom-aggregator: {}\n", failure.what());
    return 1;
  }
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
  status->fallthrough();
  status->add_flag("--json", line.json, "as JSON");
  status->add_option(
      "--job-key-file", line.job_key_file,
      "the file that COHOM_AGGREGATOR_JOB_KEY_FILE was for a job: show the groups of "
      "that job");
  status->footer(
      "It proves itself by the options --auth, --munge-users, --token-file and\n"
      "--operator-token-file, as the aggregator does (see cohom-aggregator --help).");
  status->add_option("address", line.address, "HOST:PORT (default: COHOM_AGGREGATOR)");
  try {
    app.parse(argc, argv);
    cohom::warn_of_unknown_variables();
    if (!status->parsed()) return serve(line);
    print_status(line);
    cohom::flush_standard_output();
  } catch (const CLI::ParseError& error) {
    return exit_status(app, error);
  } catch (const cohom::Error& error) {
    fmt::print(stderr, "cohom-aggregator: {}\n", error.what());
    return error.kind() == cohom::ErrorKind::invalid_argument ? 2 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "cohom-aggregator: {}\n", error.what());
    return 1;
  }
  return 0;
}
