#pragma once
// Spec strings: "name" or "name:parameter=value,parameter=value".

#include "codecs/common/codec_context.hpp"

#include <string>
#include <string_view>

namespace cohom {

struct Spec {
  std::string name;
  Parameters parameters;
};

/// @throws Error(invalid_argument) for an empty name, a parameter without "=", or one given twice.
Spec parse_spec(std::string_view text);

}  // namespace cohom
