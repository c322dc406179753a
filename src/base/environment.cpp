#include "base/environment.hpp"

#include <cstdlib>

namespace cohom {

std::string option_or_environment(std::string_view given, const char* variable,
                                  std::string_view fallback) {
  if (!given.empty()) return std::string(given);
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' ? std::string(value) : std::string(fallback);
}

}  // namespace cohom
