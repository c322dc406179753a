#pragma once
// The codecs of this build, for programs that list or describe them.

#include <cohom/cxx20.hpp>

#include <span>
#include <string>
#include <string_view>

namespace cohom {

struct ParameterInfo {
  std::string_view name;
  std::string_view default_value;
  std::string_view range;    ///< what may be given, in words
  std::string_view summary;  ///< one line
};

struct CodecInfo {
  std::string_view name;
  std::string_view summary;  ///< one line
  std::span<const ParameterInfo> parameters;
};

/// All codecs, in the order cohom-info prints them.
std::span<const CodecInfo> codecs();

}  // namespace cohom
