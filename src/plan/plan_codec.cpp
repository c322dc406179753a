#include "plan/plan_codec.hpp"

#include "memory/device_loader.hpp"
#include "plan/spec.hpp"

#include <cstddef>
#include <utility>

namespace cohom {

PlanCodec::PlanCodec(std::string_view spec, const CodecContext& context) : context_(context) {
  Spec parsed = parse_spec(spec);
  row_ = &find_codec(parsed.name);
  context_.parameters = std::move(parsed.parameters);
}

std::unique_ptr<Codec> PlanCodec::make(DeviceWork& device) const {
  return row_->make({.rank = context_.rank,
                     .ranks = context_.ranks,
                     .type = context_.type,
                     .divisor = context_.divisor,
                     .kernels = device.kernels(),
                     .parameters = context_.parameters,
                     .memory = device.memory(),
                     .host_kernels = &context_.kernels,
                     .elements = context_.elements,
                     .mean = context_.mean});
}

void PlanCodec::bypass() {
  row_ = &find_codec("raw");
  context_.parameters.clear();
}

bool PlanCodec::bounds_errors() const {
  return row_->bounds_errors != nullptr && row_->bounds_errors(context_.parameters);
}

bool PlanCodec::takes_many() const {
  return row_->takes_many != nullptr && row_->takes_many(context_.parameters);
}

std::string PlanCodec::why_not_on_device() const {
  const DeviceForm& form = row_->device;
  if (form.has_kernels == nullptr || !form.has_kernels(*loaded_device_library()->kernels))
    return "codec " + std::string(name()) + " has no kernels for the device";
  if (form.is != nullptr && !form.is(context_.parameters, context_.type))
    return "codec " + spec() + " has no kernels for the device, which are for " +
           std::string(form.only);
  return {};
}

}  // namespace cohom
