#include "call_arguments.hpp"

#include <cohom/error.hpp>

#include <cstdint>
#include <string>

namespace cohom {

void check_buffers(const void* input, const void* output, std::size_t bytes) {
  if (bytes == 0) return;
  if (input == nullptr || output == nullptr)
    throw Error(ErrorKind::invalid_argument, std::string(input == nullptr ? "input" : "output") +
                                                 " is null with " + std::to_string(bytes) +
                                                 " bytes to reduce; give a buffer of that size");
  if (input == output) return;
  const auto in = reinterpret_cast<std::uintptr_t>(input);
  const auto out = reinterpret_cast<std::uintptr_t>(output);
  const std::uintptr_t distance = in < out ? out - in : in - out;
  if (distance < bytes)
    throw Error(ErrorKind::invalid_argument,
                "input and output overlap: " + std::to_string(distance) + " bytes apart, " +
                    std::to_string(bytes) +
                    " long; give equal pointers (in place) or separate buffers");
}

}  // namespace cohom
