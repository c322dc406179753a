#include "call/call_request.hpp"

#include "call/call_failures.hpp"

#include <cstdint>
#include <string>

namespace cohom {

const CallSignature& CallRequest::signature() const {
  static const CallSignature nothing;
  if (own_signature) return *own_signature;
  return core ? core->call_signature : nothing;
}

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

}  // namespace cohom
