#pragma once
// What a rank can tell of one mini-block of packed by looking at its values: how wide rounding
// makes it, and how far its largest value stands out. Specified in docs/wire-format.md, "packed".

#include "codecs/packed/packed_minis.hpp"
#include "codecs/packed/packed_widths.hpp"
#include "kernels/packed/packed.hpp"

#include <cohom/element_type.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace cohom {

/// The values of a mini-block, in f64.
using PackedMini = std::array<double, kernels::packed_mini>;

/// A rank's vector in a call: the input, or the feedback (one f32 an element, f64 for f64) when
/// that already holds input and feedback.
struct PackedVector {
  ElementType type = ElementType::f32;
  bool is_feedback = false;
  const PackedMinis* minis = nullptr;

  /// The mini-block that begins at an element, times 2^exponent.
  [[nodiscard]] PackedMini mini(std::size_t first, int exponent = 0) const;
};

/// Infinite or NaN when a value is.
double largest_magnitude(const PackedMini& values);

/// By how much a mini-block rounded with this step is wider on average than expected of one with
/// such a maximum. `nearest`: rounded without dither. 0 where that cannot be said.
double width_deviation(ElementType type, const PackedMini& values, PackedStep step, bool nearest);

/// Sum of the values, negated where `signs` has a bit.
double projection(const PackedMini& values, std::uint32_t signs);

/// 32 log2, with a straight line in every octave, rounded down.
std::int32_t log_code(double magnitude);

/// log_code(largest) - log_code(|projection|), of which smaller shares of the largest count as
/// 1/64, since values may cancel.
std::int32_t projection_distance(double largest, double projection);

/// How far the largest value stands out of projections: the sum of projection_distance() over
/// patterns of signs, draws 3 and up of a frame.
inline constexpr std::uint32_t crest_patterns = 8;
std::int64_t crest(const PackedMini& values, double largest, std::uint32_t frame);

}  // namespace cohom
