#pragma once
// signcount's parameters (docs/wire-format.md, "signcount").

#include "codecs/common/parameters.hpp"
#include "codecs/common/sign_scale.hpp"

#include <span>

namespace cohom {

struct SigncountOptions {
  SignScaleOptions scale;
  bool majority = false;
  bool error_feedback = false;
};

std::span<const ParameterInfo> signcount_parameters();

/// @throws Error(invalid_argument) naming the parameter.
SigncountOptions parse_signcount_options(const Parameters& given);

}  // namespace cohom
