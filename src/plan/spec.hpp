#pragma once
// Spec strings: "name" or "name:parameter=value,parameter=value". A number that comes first and has
// no name is the codec's first parameter: "topk:0.01".

#include "codecs/common/codec_context.hpp"

#include <string>
#include <string_view>

namespace cohom {

struct Spec {
  std::string name;
  Parameters parameters;
};

/// @throws Error(invalid_argument) for an empty name, a parameter without "=", or one given twice;
/// for a number without a name also what find_codec() throws.
Spec parse_spec(std::string_view text);

}  // namespace cohom
