#pragma once
// packed's parameters: what the user may write.

#include "codecs/common/parameters.hpp"
#include "kernels/core/dither.hpp"

#include <cohom/element_type.hpp>

#include <cstdint>
#include <optional>
#include <span>

namespace cohom {

/// How the step is found.
enum class PackedTarget : std::uint8_t {
  mean_bits,       ///< contributions, sums and agreement take `bits` a value on average
  max_bits,        ///< the busiest rank's contribution takes at most `bits` a value
  absolute_error,  ///< the error of the sum is at most `error`
  relative_error,  ///< the same, times the largest magnitude of all ranks
  squared_error,   ///< the squared error of the sum is at most `error` of the sum's square
};

struct PackedOptions {
  PackedTarget target = PackedTarget::mean_bits;
  double bits = 5;
  double error = 0;
  bool differences = false;  ///< predict=delta
  unsigned down_shift = 0;
  kernels::Dither dither = kernels::Dither::correlated;
  bool error_feedback = false;
  std::uint64_t seed = 0;

  [[nodiscard]] bool bounded() const {
    return target == PackedTarget::absolute_error || target == PackedTarget::relative_error;
  }
  /// Whether mini-blocks are counted by magnitude.
  [[nodiscard]] bool counts() const { return !bounded(); }
  /// Whether a budget matters more than what mini-blocks below a step lose.
  [[nodiscard]] bool drops_small() const {
    return target == PackedTarget::mean_bits || target == PackedTarget::max_bits;
  }
};

/// Every parameter of packed, in the order cohom-info prints them.
std::span<const ParameterInfo> packed_parameters();

/// Whether these parameters ask for a bound of the error.
bool packed_bounds_errors(const Parameters& parameters);

/// @throws Error(invalid_argument) for an unknown parameter, a value out of range, or parameters
/// that exclude each other.
PackedOptions parse_packed_options(const Parameters& parameters, std::uint32_t ranks,
                                   ElementType type);

}  // namespace cohom
