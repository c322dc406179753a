#pragma once
// CodecContext: what a codec is told when a plan makes it.

#include "kernels/kernel_table.hpp"

#include <cohom/element_type.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace cohom {

/// Parameters as the user gave them, by name ("bits" -> "4"). Names compare with string_view.
using Parameters = std::map<std::string, std::string, std::less<>>;

struct CodecContext {
  int rank = 0;
  int ranks = 1;
  ElementType type = ElementType::f32;
  std::uint64_t divisor = 1;  ///< 1 for a sum, `ranks` for a mean: applied once, at the very end
  const kernels::KernelTable& kernels;  ///< outlives the codec
  Parameters parameters = {};
};

}  // namespace cohom
