#pragma once
// What ranks find out about each other while a communicator is made, before it has messages of its
// own.

#include "topology/given_topology.hpp"

#include <cohom/error.hpp>

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace cohom::mpi {

/// Throws on all ranks alike the error of the lowest rank that has one, and nothing when none has.
/// Collective. @throws Error(transport) of MPI itself.
void throw_on_all_ranks(MPI_Comm comm, const std::optional<Error>& own);

/// The ranks' numbers. Collective. @throws Error(transport)
std::vector<std::uint64_t> gather_numbers(MPI_Comm comm, std::uint64_t own);

/// Runs `local` and gives what it returns on all ranks, by rank. An Error that it throws on any
/// rank is thrown on all: that of the lowest. Collective. @throws Error(transport) of MPI itself.
std::vector<std::uint64_t> tell_all(MPI_Comm comm, const std::function<std::uint64_t()>& local);

/// This rank in MPI_COMM_WORLD. Local. @throws Error(transport)
JobRank job_rank();

/// The bytes of all ranks, by rank. Collective. @throws Error(transport)
std::vector<std::vector<std::byte>> gather_bytes(MPI_Comm comm, std::span<const std::byte> own);

}  // namespace cohom::mpi
