#pragma once
// marsit's parameters (docs/wire-format.md, "marsit").

#include "codecs/common/parameters.hpp"
#include "codecs/common/sign_scale.hpp"

#include <cstdint>
#include <span>

namespace cohom {

struct MarsitOptions {
  SignScaleOptions scale;
  bool compensation = false;
  std::uint64_t period = 10;  ///< calls from one full-precision call to the next; 0: none
  std::uint64_t seed = 0;

  [[nodiscard]] bool exact(std::uint64_t step) const {
    return period != 0 && (step + 1) % period == 0;
  }
};

std::span<const ParameterInfo> marsit_parameters();

/// @throws Error(invalid_argument) naming the parameter.
MarsitOptions parse_marsit_options(const Parameters& given);

}  // namespace cohom
