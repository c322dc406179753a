#pragma once
// thc's parameters: what the user may write, and what it comes to on a communicator.

#include "codecs/common/parameters.hpp"
#include "kernels/thc/thc.hpp"

#include <cohom/element_type.hpp>

#include <cstdint>
#include <span>

namespace cohom {

struct ThcOptions {
  bool table = true;             ///< levels=table; else levels=full
  unsigned bits = 4;             ///< table form: bits of a contribution
  std::uint32_t intervals = 30;  ///< table form: the granularity; full: floor((2^lane - 1) / ranks)
  unsigned lane = 8;             ///< bits of a sum's lane
  double tail = 1.0 / 32;        ///< p: the fraction of a normal variable that is clamped
  bool global_scale = false;
  std::uint32_t rotation = 256;
  kernels::Dither dither = kernels::Dither::correlated;
  bool error_feedback = false;
  std::uint64_t seed = 0;
};

/// Every parameter of thc, in the order cohom-info prints them.
std::span<const ParameterInfo> thc_parameters();

/// @throws Error(invalid_argument) for an unknown parameter, a value out of range, or a sum lane
/// that `ranks` contributions could overflow. `type`: of the results, whose rounding nmse contains.
ThcOptions parse_thc_options(const Parameters& parameters, std::uint32_t ranks,
                             ElementType type = ElementType::f32);

/// What the kernels need; computes the table.
kernels::ThcFormat make_thc_format(const ThcOptions& options, std::uint32_t rank,
                                   std::uint32_t ranks);

}  // namespace cohom
