#pragma once
// What ranks find out about each other while a communicator is made, before it has messages of its own.

#include <cohom/error.hpp>

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace cohom::mpi {

/// Throws on all ranks alike the error of the lowest rank that has one, and nothing when none has.
/// Collective. @throws Error(transport) of MPI itself.
void throw_on_all_ranks(MPI_Comm comm, const std::optional<Error>& own);

/// The least and the greatest of the ranks' numbers. Collective.
/// @throws Error(transport)
std::pair<std::int64_t, std::int64_t> extremes(MPI_Comm comm, std::int64_t own);

/// The bytes of all ranks, by rank. Collective. @throws Error(transport)
std::vector<std::vector<std::byte>> gather_bytes(MPI_Comm comm, std::span<const std::byte> own);

}  // namespace cohom::mpi
