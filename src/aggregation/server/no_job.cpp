// What stands for serving an MPI job in builds without MPI.

#include "aggregation/server/serve_job.hpp"

#include <cohom/error.hpp>

namespace cohom::offload {

int serve_job(ServerSetup, const std::function<std::unique_ptr<DataPlane>(const ServerSetup&)>&) {
  throw Error(ErrorKind::unsupported,
              "--listen HOST:PORT is missing (this build has no MPI, whose job it could serve)");
}

}  // namespace cohom::offload
