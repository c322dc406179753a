#include "predict/mpi_predict.hpp"

#include "in_world.hpp"
#include "predict/network_probe.hpp"
#include "predict/prediction.hpp"

#include <cohom/communicator.hpp>
#include <cohom/mpi.hpp>

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <utility>
#include <vector>

namespace cohom::bench {
namespace {

/// On all ranks at once, as they work in a call: the means.
std::vector<MeteredCodec> measure_on_all(const PredictOptions& options, int ranks) {
  auto codecs = measure_codecs(options.codecs, options.bytes);
  for (MeteredCodec& codec : codecs) {
    if (!codec.times) continue;
    CodecTimes& times = *codec.times;
    for (Nanoseconds* const time :
         {&times.agree, &times.encode, &times.add_narrow, &times.add_wide, &times.decode}) {
      MPI_Allreduce(MPI_IN_PLACE, time, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      *time /= ranks;
    }
  }
  return codecs;
}

/// On rank 0.
void print_of_job(const PredictOptions& options, ProbedNetwork network,
                  std::vector<MeteredCodec> codecs, int ranks) {
  const int asked = options.ranks == 0 ? ranks : options.ranks;
  // More ranks on one node, where nobody knows what lies between nodes.
  int& ranks_a_node = network.shape.ranks_a_node;
  ranks_a_node = network.far ? std::min(ranks_a_node, asked) : asked;
  if (network.dealt && ranks_a_node > 1)
    network.shape.dealt_to = (asked + ranks_a_node - 1) / ranks_a_node;
  fmt::print("{} ranks, {} a node{}; measured: {}\n", asked, ranks_a_node,
             network.shape.dealt_to != 0 ? ", dealt to the nodes in turn" : "", network.describe());
  fmt::print("{}", table_of(predict({.network = network.shape,
                                     .ranks_a_thread = network.ranks_a_thread(ranks_a_node),
                                     .bytes = options.bytes,
                                     .ranks = asked,
                                     .codecs = std::move(codecs)})));
}

int predict_for_world(const PredictOptions& options) {
  const Communicator communicator = mpi::communicator(MPI_COMM_WORLD);
  if (communicator.ranks() == 1) {
    fmt::print(stderr,
               "cohom-info: --predict measures what lies between ranks, and there is one; run it "
               "under mpirun, or name a network (--network)\n");
    return 2;
  }
  const ProbedNetwork network =
      probe_network(MPI_COMM_WORLD, communicator.topology().nodes, options.bytes);
  auto codecs = measure_on_all(options, communicator.ranks());
  int status = 0;
  if (communicator.rank() == 0) {
    try {
      print_of_job(options, network, std::move(codecs), communicator.ranks());
    } catch (const std::exception& error) {
      fmt::print(stderr, "cohom-info: {}\n", error.what());
      status = 2;
    }
  }
  wait_for_all(MPI_COMM_WORLD);
  MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return status;
}

}  // namespace

int print_job_prediction(const PredictOptions& options) {
  return run_in_world([&] { return predict_for_world(options); });
}

}  // namespace cohom::bench
