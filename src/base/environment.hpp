#pragma once
// Options that the environment may give.

#include <string>
#include <string_view>

namespace cohom {

/// `given` if not empty, else the environment variable, else `fallback`.
std::string option_or_environment(std::string_view given, const char* variable,
                                  std::string_view fallback);

}  // namespace cohom
