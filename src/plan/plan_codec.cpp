#include "plan/plan_codec.hpp"

#include "base/tags.hpp"
#include "codecs/parts/parts.hpp"
#include "memory/device_loader.hpp"
#include "plan/spec.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace cohom {

PlanCodec::PlanCodec(std::string_view spec, const CodecContext& context) : context_(context) {
  Spec parsed = parse_spec(spec);
  row_ = &find_codec(parsed.name);
  context_.parameters = std::move(parsed.parameters);
}

std::unique_ptr<Codec> PlanCodec::make(DeviceWork& device) const {
  return made({.rank = context_.rank,
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

std::unique_ptr<Codec> PlanCodec::made(const CodecContext& context) const {
  auto codec = row_->make(context);
  const std::size_t rounds = codec->rounds().size();
  if (rounds > std::size_t{max_rounds})
    throw Error(ErrorKind::unsupported, "codec " + std::string(name()) + " has " +
                                            std::to_string(rounds) + " rounds; at most " +
                                            std::to_string(max_rounds) +
                                            " are supported, as messages carry a round's number");
  return parts_ ? made_for_parts(std::move(codec), context) : std::move(codec);
}

void PlanCodec::compress_parts(std::size_t elements) {
  parts_ = true;
  context_.rank = 0;
  context_.ranks = 1;
  context_.elements = elements;
}

std::unique_ptr<Codec> PlanCodec::made_for_parts(std::unique_ptr<Codec> own,
                                                 const CodecContext& context) const {
  if (own->state_bytes(std::max<std::size_t>(context.elements, 1)) != 0)
    throw Error(ErrorKind::unsupported,
                "codec " + spec() +
                    " keeps what it drops for the next call; an allgather compresses each call by "
                    "itself: take a codec without error feedback");
  return make_parts_codec(std::move(own), row_->make(context), context.elements, context.type);
}

void PlanCodec::bypass() {
  row_ = &find_codec("raw");
  context_.parameters.clear();
}

bool PlanCodec::bounds_errors() const {
  if (parts_) return false;  // what others do with parts loses nothing
  return row_->bounds_errors != nullptr && row_->bounds_errors(context_.parameters);
}

bool PlanCodec::takes_many() const {
  return !parts_ && row_->takes_many != nullptr && row_->takes_many(context_.parameters);
}

std::string PlanCodec::why_not_in_workers() const {
  if (parts_) return "parts of an allgather are compressed in the calling thread";
  if (row_->in_workers) return {};
  return "codec " + std::string(name()) + " works in the calling thread alone";
}

std::string PlanCodec::why_not_on_device() const {
  if (parts_) return "parts of an allgather are compressed in the host's memory";
  const DeviceForm& form = row_->device;
  if (form.has_kernels == nullptr)
    return "codec " + std::string(name()) +
           " has no kernels for devices: " + std::string(form.why_none);
  if (!form.has_kernels(*loaded_device_library()->kernels))
    return "codec " + std::string(name()) + " has no kernels for the device";
  if (form.is != nullptr && !form.is(context_.parameters, context_.type))
    return "codec " + spec() + " has no kernels for the device, which are for " +
           std::string(form.only);
  return {};
}

std::string codec_of_many_vectors(const std::string& codec) {
  Spec spec = parse_spec(codec.empty() ? "exact" : codec);
  if (find_codec(spec.name).info.name != "exact")
    throw Error(ErrorKind::invalid_argument,
                "codec \"" + codec +
                    "\" takes one vector a rank; a sum of any number of them is made by exact, or "
                    "where no codec is asked for");
  if (spec.parameters.try_emplace("vectors", "many").first->second == "one")
    throw Error(ErrorKind::invalid_argument,
                "codec \"" + codec +
                    "\" takes one vector a rank; for any number of them write exact:vectors=many, "
                    "or exact alone");
  std::string text = spec.name;
  char before = ':';
  for (const auto& [name, value] : spec.parameters) {
    text.append(1, before).append(name).append("=").append(value);
    before = ',';
  }
  return text;
}

}  // namespace cohom
