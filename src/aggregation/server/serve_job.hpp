#pragma once
// An aggregator that is a part of the MPI job whose words it sums.

#include "aggregation/server/control_server.hpp"

#include <functional>
#include <memory>

namespace cohom::offload {

/// Serves the other programs of the job until all of their ranks are in MPI_Finalize; returns the
/// exit status. The address is this host's name and any free port; the token is drawn here; both
/// travel by MPI. When it cannot serve it says why, and the others do without.
/// @throws Error(invalid_argument) where there is no job, Error(unsupported) in builds without MPI.
int serve_job(ServerSetup setup,
              const std::function<std::unique_ptr<DataPlane>(const ServerSetup&)>& make_plane);

}  // namespace cohom::offload
