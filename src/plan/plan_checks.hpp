#pragma once
// What of a plan can be refused before anything is chosen or allocated.

#include "plan/plan_shape.hpp"
#include "schedule/algorithms/algorithm.hpp"

#include <cohom/options.hpp>
#include <cohom/transport.hpp>

#include <string_view>

namespace cohom {

/// @throws Error(unsupported) for more ranks than schedules can count
void check_ranks(int ranks);
/// `wanted`: the option, empty where nothing is. @throws Error(invalid_argument)
void check_transport(std::string_view wanted, const Transport& transport);
/// @throws Error(invalid_argument) for a mean where nothing is added
void check_op(const PlanShape& shape, ReduceOp op);
/// That a thread of the library can advance calls. `mpi_sums`: all of the vector or of its words,
/// by that algorithm. @throws Error(unsupported)
void check_own_thread(const Transport& transport, const AlgorithmRow& algorithm, bool mpi_sums);

}  // namespace cohom
