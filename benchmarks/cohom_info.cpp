// cohom-info: what this build of the library and this machine can do. Needs no launcher.

#include "aggregation/auth/cryptography.hpp"
#include "base/known_names.hpp"
#include "base/standard_output.hpp"
#include "command_line.hpp"
#include "library_info.hpp"
#include "machine_info.hpp"
#include "predict/predict_options.hpp"
#include "predict/prediction.hpp"
#include "topology_text.hpp"
#if COHOM_HAVE_MPI
#include "mpi_info.hpp"
#include "mpi_topology.hpp"
#include "predict/mpi_predict.hpp"
#endif
#if COHOM_HAVE_UCX
#include "ucx_info.hpp"
#endif

#include <cohom/version.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

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

/// Returns the exit status.
int print_prediction(const PredictOptions& options) {
  if (options.network != nullptr) {
    fmt::print("{} ranks; {}: {}\n{}", options.ranks, options.network->name,
               describe(*options.network),
               table_of(predict({.network = *options.network,
                                 .bytes = options.bytes,
                                 .ranks = options.ranks,
                                 .codecs = measure_codecs(options.codecs, options.bytes)})));
    return 0;
  }
#if COHOM_HAVE_MPI
  return print_job_prediction(options);
#else
  throw UsageError(
      "--predict measures the network with MPI, which this build has not; name one "
      "(--network)");
#endif
}

int run(int argc, char** argv) {
  CLI::App app("Prints what this build of cohom and this machine can do.", "cohom-info");
  bool json = false, topology = false;
  std::string predicted, network;
  std::vector<std::string> codecs;
  auto* const as_json = app.add_flag("--json", json, "as JSON");
  auto* const drawn =
      app.add_flag("--topology", topology,
                   "draws this machine; under mpirun also which ranks share nodes and cores")
          ->excludes(as_json);
  auto* const predicts =
      app.add_option("--predict", predicted,
                     "BYTES[,RANKS]: how long an allreduce of f32 should take by each codec and "
                     "algorithm; under mpirun, whose network is measured, or on --network")
          ->excludes(as_json)
          ->excludes(drawn);
  app.add_option("--network", network, "of --predict: one that cohom-scale --help lists")
      ->needs(predicts);
  app.add_option("--codec", codecs,
                 "of --predict: codec spec; may be repeated (default: raw, thc, packed, signcount)")
      ->allow_extra_args(false)
      ->check(some_codec())
      ->needs(predicts);
  app.set_version_flag("--version", std::string("cohom-info ") + version_string);
  if (const auto information = parse(app, argc, argv)) {
    fmt::print("{}", information->text);
    flush_standard_output();
    return 0;
  }
  warn_of_unknown_variables();
  int status = 0;
  if (predicts->count() != 0) {
    PredictOptions options = parse_predict(predicted, network);
    if (!codecs.empty()) options.codecs = codecs;
    status = print_prediction(options);
  } else if (topology) {
    status = print_topology();
  } else {
    json ? print_json() : print_text();
  }
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
