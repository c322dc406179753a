#pragma once
// Which transport joins the ranks of an MPI communicator.

#include <cohom/transport.hpp>

#include <mpi.h>

#include <memory>
#include <string_view>

namespace cohom::mpi {

/// `name` as Options::transport. Collective over `comm`, which is duplicated.
/// @throws Error on all ranks alike: invalid_argument for an unknown name, mismatch when ranks ask for
/// different ones, unsupported for one that this library was built without; and of the transport.
std::shared_ptr<Transport> make_transport(std::string_view name, MPI_Comm comm);

}  // namespace cohom::mpi
