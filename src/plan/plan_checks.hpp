#pragma once
// What of a plan can be refused before anything is chosen or allocated.

#include "schedule/algorithms/algorithm.hpp"

#include <cohom/transport.hpp>

#include <string_view>

namespace cohom {

/// @throws Error(unsupported) for more ranks than schedules can count
void check_ranks(int ranks);
/// `wanted`: the option, empty where nothing is. @throws Error(invalid_argument)
void check_transport(std::string_view wanted, const Transport& transport);
/// That a thread of the library can advance calls. `mpi_sums`: all of the vector or of its words,
/// by that algorithm. @throws Error(unsupported)
void check_own_thread(const Transport& transport, const AlgorithmRow& algorithm, bool mpi_sums);

}  // namespace cohom
