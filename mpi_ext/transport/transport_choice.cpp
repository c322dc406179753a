#include "mpi_ext/transport/transport_choice.hpp"

#include "mpi_ext/base/mpi_agreement.hpp"
#include "mpi_ext/base/owned_comm.hpp"
#include "mpi_ext/transport/mpi_transport.hpp"
#include "node_window/node_meeting.hpp"
#include "transport/registry.hpp"

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace cohom::mpi {

namespace {

/// Those of this build: MPI's, which needs no exchange, and the others.
const std::vector<BuiltTransport>& transports() {
  static const std::vector<BuiltTransport> all = [] {
    std::vector<BuiltTransport> list = built_transports();
    list.push_back({.name = "mpi"});
    return list;
  }();
  return all;
}

/// The same number on all ranks.
std::size_t agreed_number(std::string_view given, const OwnedComm& comm) {
  const auto by_rank =
      tell_all(comm.get(), [&] { return number_of_transport(given, transports()); });
  expect_same_transport(by_rank);
  return by_rank[0];
}

}  // namespace

std::shared_ptr<Transport> make_transport(std::string_view name, MPI_Comm comm) {
  OwnedComm own(comm);
  const BuiltTransport& chosen = find_transport(agreed_number(name, own), transports());
  // Over the user's communicator: MPI's transport takes the other one.
  const Exchange exchange = [&](std::span<const std::byte> bytes) {
    return gather_bytes(comm, bytes);
  };
  auto transport = chosen.join == nullptr
                       ? std::make_shared<MpiTransport>(std::move(own))
                       : chosen.join(own.rank(), own.ranks(), exchange, job_rank());
  return with_node_windows(std::move(transport), exchange);
}

std::optional<ConnectAggregator> daemon_connector(const JobSecret& job, int rank, int ranks,
                                                  const std::string& token) {
  for (const BuiltTransport& transport : transports())
    if (transport.aggregator_connector != nullptr)
      return transport.aggregator_connector(job, rank, ranks, token);
  return std::nullopt;
}

}  // namespace cohom::mpi
