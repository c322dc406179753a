#include "base/vector_bytes.hpp"

#include <cohom/error.hpp>

#include <limits>
#include <string>

namespace cohom {

std::size_t vector_bytes(std::size_t count, ElementType type) {
  if (size_of(type) == 0)
    throw Error(ErrorKind::invalid_argument,
                "type " + std::to_string(static_cast<int>(type)) +
                    " is none of ElementType's; give f32, f16, bf16 or f64");
  const std::size_t most = std::numeric_limits<std::ptrdiff_t>::max() / size_of(type);
  if (count > most)
    throw Error(ErrorKind::invalid_argument,
                "count " + std::to_string(count) + " overflows: " + std::string(name_of(type)) +
                    " vectors have at most " + std::to_string(most) + " elements");
  return count * size_of(type);
}

}  // namespace cohom
