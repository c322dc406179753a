#include "call/call_request.hpp"

#include "call/call_failures.hpp"

#include <cstdint>
#include <string>

namespace cohom {

const CallSignature& CallRequest::signature() const {
  static const CallSignature nothing;
  if (own_signature) return *own_signature;
  return core ? core->calls.signature : nothing;
}

void CallRequest::drop_given_up_plan(const CallFailures& failures) {
  if (!core || !core->calls.given_up) return;
  if (!error) error = failures.of_transport();
  if (!error)
    error = Error(ErrorKind::transport,
                  "an earlier call of this plan ended early, and messages may still use "
                  "its memory; make a new communicator");
  core.reset();
}

namespace {

struct Buffer {
  const void* begin = nullptr;
  std::size_t bytes = 0;
};

std::optional<Error> null_error(const Buffer& buffer, const char* name) {
  if (buffer.begin != nullptr || buffer.bytes == 0) return std::nullopt;
  return Error(ErrorKind::invalid_argument, std::string(name) + " is null with " +
                                                std::to_string(buffer.bytes) +
                                                " bytes of elements; give a buffer of that size");
}

std::optional<Error> buffers_error(const Buffer& input, const Buffer& output) {
  if (auto error = null_error(output, "output")) return error;
  if (auto error = null_error(input, "input")) return error;
  if (input.begin == output.begin || input.bytes == 0 || output.bytes == 0) return std::nullopt;
  const auto in = reinterpret_cast<std::uintptr_t>(input.begin);
  const auto out = reinterpret_cast<std::uintptr_t>(output.begin);
  const std::uintptr_t distance = in < out ? out - in : in - out;
  const std::size_t bytes = in < out ? input.bytes : output.bytes;
  if (distance >= bytes) return std::nullopt;
  return Error(ErrorKind::invalid_argument,
               "input and output overlap: " + std::to_string(distance) + " bytes apart, " +
                   std::to_string(bytes) +
                   " long; give equal pointers (in place) or separate buffers");
}

/// Of an allgather, which is in place where the input is this rank's part of the output.
std::optional<Error> parts_error(const Buffer& input, const Buffer& output, std::size_t rank) {
  if (auto error = null_error(output, "output")) return error;
  if (auto error = null_error(input, "input")) return error;
  const auto in = reinterpret_cast<std::uintptr_t>(input.begin);
  const auto out = reinterpret_cast<std::uintptr_t>(output.begin);
  const std::uintptr_t own = out + rank * input.bytes;
  if (in == own || in + input.bytes <= out || out + output.bytes <= in) return std::nullopt;
  const auto place = static_cast<std::intptr_t>(in - out);
  return Error(ErrorKind::invalid_argument,
               "input and output overlap: the input begins " + std::to_string(place) +
                   " bytes behind the output's begin; give " + std::to_string(own - out) +
                   " bytes, this rank's part (in place), or separate buffers");
}

}  // namespace

std::optional<Error> buffer_error(const void* input, const void* output, std::size_t bytes) {
  return buffers_error({input, bytes}, {output, bytes});
}

std::optional<Error> buffer_error(const PlanShape& shape, int rank, int ranks, const void* input,
                                  const void* output) {
  const BufferBytes bytes = shape.bytes_of_rank(rank, ranks);
  if (shape.gathers())
    return parts_error({input, bytes.input}, {output, bytes.output},
                       static_cast<std::size_t>(rank));
  return buffers_error({input, bytes.input}, {output, bytes.output});
}

}  // namespace cohom
