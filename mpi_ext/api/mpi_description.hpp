#pragma once
// What the C API tells about the library and its calls: pairs of texts, in an MPI_Info.

#include <cohom/plan.hpp>

#include <mpi.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohom::mpi {

using Descriptions = std::vector<std::pair<std::string_view, std::string>>;

/// As MPIX_Compressed_plan_describe() names them.
Descriptions descriptions_of(const PlanDescription& plan);

/// The caller frees it. Texts that MPI has no room for end in dots.
MPI_Info info_of(const Descriptions& descriptions);

}  // namespace cohom::mpi
