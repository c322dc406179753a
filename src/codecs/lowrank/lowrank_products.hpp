#pragma once
// Products of vectors of f32, as lowrank needs them. All ranks must get the same bits from the same
// words, on whatever processor: additions are in a fixed order of lanes, and products are not fused
// with them.

#include <cstddef>
#include <span>

namespace cohom {

/// Rows are multiples of so many elements.
inline constexpr std::size_t lowrank_lanes = 16;

/// Of two vectors of a multiple of lowrank_lanes elements.
float dot(std::span<const float> a, std::span<const float> b);

/// to += factor * from, of a multiple of lowrank_lanes elements.
void add_multiple(float factor, std::span<const float> from, std::span<float> to);

/// Makes vectors of `length` elements, one after the other, orthonormal: Gram-Schmidt, twice, in
/// f64. A vector that the ones before it span up to rounding becomes zero. `scratch` is as long.
void orthonormalise(std::span<float> vectors, std::size_t length, std::span<double> scratch);

}  // namespace cohom
