// PlanCore: what follows from where the buffers of its calls lie.

#include "base/environment.hpp"
#include "base/log.hpp"
#include "codecs/codec_table.hpp"
#include "memory/device_loader.hpp"
#include "plan/plan_core.hpp"
#include "plan/spec.hpp"

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

bool PlanCore::runs_on_device(const Placement& placement, const AlgorithmRow& algorithm) const {
  const Spec spec = parse_spec(description_.codec);
  const DeviceForm& form = find_codec(spec.name).device;
  if (!placement.all_on_device())
    log_once("input and output lie in different memory (" + placement.text() +
             "): calls run on the host, on copies");
  else if (algorithm.needs_aggregator)
    log_once("algorithm " + std::string(algorithm.name) +
             " sums the host's words: calls with a device's buffers run on the host, on copies");
  else if (!form.has_kernels(*loaded_device_library()->kernels))
    log_once("codec " + spec.name +
             " has no kernels for the device: calls with its buffers run on the host, on copies");
  else if (form.is != nullptr && !form.is(spec.parameters, type_))
    log_once("codec " + description_.codec + " has no kernels for the device, which are for " +
             std::string(form.only) + ": calls with its buffers run on the host, on copies");
  else
    return true;
  return false;
}

void PlanCore::move_to_device(CodecContext& context, const PlanEnvironment& environment,
                              const Placement& placement, const AlgorithmRow& algorithm) {
  const bool there = runs_on_device(placement, algorithm);
  device_ = std::make_unique<DevicePlan>(*loaded_device_library(), placement, there);
  if (!there) return;
  const Transport& transport = *environment.transport;
  reaches_device_ = !staging_wanted() && !checksum_ && transport.reaches(MemorySpace::cuda);
  if (reaches_device_) message_bytes_ = transport.preferred_device_message_bytes();
  const DeviceWork::Use use(device_work().get());
  const Spec spec = parse_spec(description_.codec);
  CodecContext there_context{.rank = context.rank,
                             .ranks = context.ranks,
                             .type = context.type,
                             .divisor = context.divisor,
                             .kernels = device_work()->kernels(),
                             .parameters = context.parameters,
                             .memory = device_work()->memory(),
                             .host_kernels = environment.kernels};
  route_.codec = find_codec(spec.name).make(there_context);
}

const std::shared_ptr<DeviceWork>& PlanCore::device_work() const {
  static const std::shared_ptr<DeviceWork> none;
  return device_ && device_->runs_there() ? device_->work() : none;
}

PlanCore::~PlanCore() {
  if (device_) device_->drain();
}

void PlanCore::describe_path(const PlanEnvironment& environment) {
  description_.memory = device_work() ? "cuda" : "host";
  description_.path = "host";
  if (!device_) return;
  description_.path = !device_work()    ? "copied"
                      : reaches_device_ ? std::string(environment.transport->device_path())
                                        : "staged";
  log_once("device " + std::to_string(device_->work()->device()) + ", transport " +
           std::string(environment.transport->name()) + ": path " + description_.path);
}

/// Segments are cut as the memory likes it, unless somebody says how: then ranks need not agree on it.
void PlanCore::sign_memory(CallSignature& signature) const {
  signature.text("memory space", segment_given_ ? "any" : description_.memory);
}

}  // namespace cohom
