#pragma once
// Which transport joins the ranks of an MPI communicator, and which one reaches aggregators.

#include <cohom/offload.hpp>
#include <cohom/transport.hpp>

#include <mpi.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cohom::mpi {

/// `name` as Options::transport. Collective over `comm`, which is duplicated.
/// @throws Error on all ranks alike: invalid_argument for an unknown name, mismatch when ranks ask
/// for different ones, unsupported for one that this library was built without; and of the
/// transport.
std::shared_ptr<Transport> make_transport(std::string_view name, MPI_Comm comm);

/// What reaches aggregators of kind `daemon` as well (BuiltTransport::aggregator_connector),
/// whatever transport joins the ranks. None: no transport of this build does. Local.
std::optional<ConnectAggregator> daemon_connector(const JobSecret& job, int rank, int ranks,
                                                  const std::string& token);

}  // namespace cohom::mpi
