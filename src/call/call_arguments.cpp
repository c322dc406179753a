#include "call/call_arguments.hpp"

#include <cstdint>
#include <string>

namespace cohom {

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
