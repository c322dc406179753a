// cohom-info: what this build of the library and this machine can do. Needs no launcher.

#include "aggregation/auth/cryptography.hpp"
#include "base/known_names.hpp"
#include "base/standard_output.hpp"
#include "command_line.hpp"
#include "library_info.hpp"
#include "machine_info.hpp"
#include "topology_text.hpp"
#if COHOM_HAVE_MPI
#include "mpi_info.hpp"
#include "mpi_topology.hpp"
#endif
#if COHOM_HAVE_UCX
#include "ucx_info.hpp"
#endif

#include <cohom/version.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>

namespace cohom::bench {
namespace {

/// Whether ranks can use aggregators in the network at all.
const char* aggregator_text() {
  return offload::has_cryptography() ? "aggregators in the network: yes\n"
                                     : "aggregators in the network: no, built without libsodium\n";
}

void print_json() {
  nlohmann::ordered_json info = {{"schema", "cohom-info/1"}};
  info.update(library_info());
  info["network_aggregators"] = offload::has_cryptography();
  info["machine"] = machine_info();
#if COHOM_HAVE_UCX
  info["ucx"] = ucx_info();
#else
  info["ucx"] = nullptr;
#endif
#if COHOM_HAVE_MPI
  info["mpi"] = mpi_info();
#else
  info["mpi"] = nullptr;
#endif
  fmt::print("{}\n", info.dump(1));
}

void print_text() {
  fmt::print("{}\n{}\n", library_text(library_info()), machine_text(machine_info()));
  fmt::print("{}", aggregator_text());
#if COHOM_HAVE_UCX
  fmt::print("{}", ucx_text(ucx_info()));
#else
  fmt::print("built without UCX\n");
#endif
  // Last, and after all else is out: MPI libraries end a process that they cannot initialise.
  std::fflush(stdout);
#if COHOM_HAVE_MPI
  fmt::print("{}", mpi_text(mpi_info()));
#else
  fmt::print("built without MPI\n");
#endif
}

/// Returns the exit status.
int print_topology() {
#if COHOM_HAVE_MPI
  return print_job_topology();
#else
  fmt::print("{}", machine_topology_text());
  return 0;
#endif
}

int run(int argc, char** argv) {
  CLI::App app("Prints what this build of cohom and this machine can do.", "cohom-info");
  bool json = false, topology = false;
  auto* const as_json = app.add_flag("--json", json, "as JSON");
  app.add_flag("--topology", topology,
               "draws this machine; under mpirun also which ranks share nodes and cores")
      ->excludes(as_json);
  app.set_version_flag("--version", std::string("cohom-info ") + version_string);
  if (const auto information = parse(app, argc, argv)) {
    fmt::print("{}", information->text);
    flush_standard_output();
    return 0;
  }
  warn_of_unknown_variables();
  int status = 0;
  if (topology)
    status = print_topology();
  else
    json ? print_json() : print_text();
  flush_standard_output();
  return status;
}

}  // namespace
}  // namespace cohom::bench

int main(int argc, char** argv) {
  try {
    return cohom::bench::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "cohom-info: {}\n", error.what());
    return 2;
  }
}
