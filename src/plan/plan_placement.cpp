#include "plan/plan_placement.hpp"

#include "base/environment.hpp"
#include "base/log.hpp"

#include <cohom/error.hpp>

#include <string>

namespace cohom {

namespace {

/// Whether words are to go through the host although the transport reaches the device: to compare.
bool staging_wanted() {
  const std::string path = option_or_environment({}, "COHOM_DEVICE_PATH", "auto");
  if (path != "auto" && path != "staged")
    throw Error(ErrorKind::invalid_argument,
                "COHOM_DEVICE_PATH=" + path + " is no path; there are auto and staged");
  return path == "staged";
}

}  // namespace

bool runs_on_device(const PlanCodec& codec, const Placement& placement,
                    const AlgorithmRow& algorithm) {
  if (!placement.all_on_device()) {
    log_once("input and output lie in different memory (" + placement.text() +
             "): calls run on the host, on copies");
  } else if (algorithm.needs_aggregator) {
    log_once("algorithm " + std::string(algorithm.name) +
             " sums the host's words: calls with a device's buffers run on the host, on copies");
  } else {
    const std::string why_not = codec.why_not_on_device();
    if (why_not.empty()) return true;
    log_once(why_not + ": calls with its buffers run on the host, on copies");
  }
  return false;
}

bool words_stay_on_device(const Transport& transport, bool checksum) {
  return !staging_wanted() && !checksum && transport.reaches(MemorySpace::cuda);
}

}  // namespace cohom
