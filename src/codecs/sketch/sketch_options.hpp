#pragma once
// sketch's parameters.

#include "codecs/common/index/sparse_options.hpp"
#include "codecs/common/parameters.hpp"

#include <cohom/element_type.hpp>

#include <cstdint>
#include <span>

namespace cohom {

/// What cells add up.
enum class SketchCellKind : std::uint8_t {
  integers,  ///< 64 bits, fixed point of one exponent for the vector
  f32,
  f64
};

struct SketchOptions {
  IndexOptions index;
  SketchCellKind cells = SketchCellKind::integers;
  double gamma = 1.3;  ///< cells for each element of the union
  double size = 0;     ///< not 0: cells for each element of the vector instead
  std::uint64_t seed = 0;
};

/// Every parameter of sketch, in the order cohom-info prints them.
std::span<const ParameterInfo> sketch_parameters();

/// @throws Error(invalid_argument) for an unknown parameter or a wrong value.
SketchOptions parse_sketch_options(const Parameters& parameters, ElementType type);

/// Whether the parameters, which are right, mean cells=i64, whose sums come out the same in any
/// order.
bool sketch_has_integers(const Parameters& parameters, ElementType type);

}  // namespace cohom
