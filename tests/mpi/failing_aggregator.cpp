// An aggregator of a job that fails: failing_aggregator unstarted|failed. The job goes on. Exits
// with 0 when serve_job() returns what it should.

#include "aggregation/server/serve_job.hpp"
#include "host_plane.hpp"

#include <atomic>
#include <cstdio>
#include <memory>
#include <string_view>
#include <system_error>

int main(int argc, char** argv) {
  using namespace cohom::offload;
  const bool starts = argc > 1 && std::string_view(argv[1]) == "failed";
  const std::atomic<bool> broken = true;
  const int status = serve_job({}, [&](const ServerSetup&) -> std::unique_ptr<DataPlane> {
    if (!starts) throw std::system_error(std::make_error_code(std::errc::not_enough_memory));
    return cohom::test::make_host_plane({.broken = &broken});
  });
  if (status == (starts ? 0 : 1)) return 0;
  std::fprintf(stderr, "failing_aggregator: serve_job() returned %d\n", status);
  return 1;
}
