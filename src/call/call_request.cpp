#include "call/call_request.hpp"

#include "call/call_failures.hpp"
#include "plan/spec.hpp"

#include <cstdint>
#include <string>

namespace cohom {

void CallRequest::drop_given_up_plan(const CallFailures& failures) {
  if (!core || !core->given_up) return;
  if (!error) error = failures.of_transport();
  if (!error)
    error = Error(ErrorKind::transport,
                  "an earlier call of this plan ended early, and messages may still use "
                  "its memory; make a new communicator");
  core.reset();
}

std::optional<Error> buffer_error(const void* input, const void* output, std::size_t bytes) {
  if (bytes == 0 || (input == output && input != nullptr)) return std::nullopt;
  if (input == nullptr || output == nullptr)
    return Error(ErrorKind::invalid_argument, std::string(output == nullptr ? "output" : "input") +
                                                  " is null with " + std::to_string(bytes) +
                                                  " bytes to reduce; give a buffer of that size");
  const auto in = reinterpret_cast<std::uintptr_t>(input);
  const auto out = reinterpret_cast<std::uintptr_t>(output);
  const std::uintptr_t distance = in < out ? out - in : in - out;
  if (distance >= bytes) return std::nullopt;
  return Error(ErrorKind::invalid_argument,
               "input and output overlap: " + std::to_string(distance) + " bytes apart, " +
                   std::to_string(bytes) +
                   " long; give equal pointers (in place) or separate buffers");
}

std::string codec_of_many_vectors(const std::string& codec) {
  Spec spec = parse_spec(codec.empty() ? "exact" : codec);
  if (spec.name != "exact")
    throw Error(ErrorKind::invalid_argument,
                "codec \"" + codec +
                    "\" takes one vector a rank; a sum of any number of them is made by exact, or "
                    "where no codec is asked for");
  if (spec.parameters.try_emplace("vectors", "many").first->second != "many")
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
