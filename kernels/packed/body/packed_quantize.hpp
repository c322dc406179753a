#pragma once
// Values to integers and back for packed (docs/wire-format.md, "packed"), in f32 or f64.

#include "kernels/core/body/bits.hpp"
#include "kernels/core/body/float_bits.hpp"
#include "kernels/core/body/random.hpp"
#include "kernels/core/hd.hpp"
#include "kernels/packed/body/packed_group.hpp"
#include "kernels/packed/packed.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace cohom::kernels::body {

/// A quantiser's numbers in the arithmetic they are used in.
template <class Real>
struct PackedScale {
  Real step, inverse, limit;

  COHOM_HD explicit PackedScale(const PackedQuantizer& quantizer)
      : step(static_cast<Real>(quantizer.step)),
        inverse(Real{1} / step),
        limit(static_cast<Real>(quantizer.limit)) {}
};

/// To nearest, ties to even; |value| < 2^30.
template <class Real>
COHOM_HD inline std::int32_t nearest_integer(Real value) {
  return static_cast<std::int32_t>(std::nearbyint(value));
}

/// Unbiased over dither = 0 .. 255.
template <class Real>
COHOM_HD inline std::int32_t dithered_integer(Real value, std::uint32_t dither) {
  const Real offset = (static_cast<Real>(dither) + Real{0.5}) / Real{256};
  return static_cast<std::int32_t>(std::floor(value + offset));
}

/// The dithers of one frame of 256 elements for one rank.
struct PackedDitherFrame {
  std::uint32_t frame = 0;
  std::uint32_t offset = 0;

  COHOM_HD PackedDitherFrame(const PackedQuantizer& quantizer, std::uint64_t number)
      : frame(body::frame(quantizer.dither_key, number)) {
    if (quantizer.dither != Dither::correlated) return;
    const std::uint32_t draw = body::frame(quantizer.permutation_key, number);
    const auto units = static_cast<std::uint32_t>(quantizer.dither_offsets.size());
    offset = quantizer.dither_offsets[permutation_number(draw, units)];
  }

  [[nodiscard]] COHOM_HD std::uint32_t of(std::size_t position) const {
    return (body::dither(frame, static_cast<std::uint32_t>(position)) + offset) & 0xff;
  }
};

/// Bins of largest magnitudes: bin 0 holds zero, bin b > 0 quarter octave number b - 1 of the
/// type's range, from its least denormal on. Magnitudes that are not finite have none.
template <class Real>
struct PackedBins;
template <>
struct PackedBins<float> {
  static constexpr int min_exponent = -149;
  static constexpr std::size_t count = 1 + 4 * 277;
};
template <>
struct PackedBins<double> {
  static constexpr int min_exponent = -1074;
  static constexpr std::size_t count = 1 + 4 * 2098;
};

COHOM_HD inline std::size_t packed_bin(float magnitude) {
  if (magnitude == 0) return 0;
  constexpr std::uint64_t least = FloatFormat<double>::bias + PackedBins<float>::min_exponent;
  return static_cast<std::size_t>((bits_of(static_cast<double>(magnitude)) >> 50) - 4 * least + 1);
}

COHOM_HD inline std::size_t packed_bin(double magnitude) {
  const std::uint64_t bits = bits_of(magnitude);
  const std::uint64_t normal = bits >> 50;
  if (normal >= 4) return static_cast<std::size_t>(normal + 4 * 51 + 1);
  if (bits == 0) return 0;
  // A denormal is a whole number of the least one.
  const int octave = static_cast<int>(bit_width(bits)) - 1;
  const std::uint64_t quarter = octave >= 2 ? bits >> (octave - 2) & 3 : bits << (2 - octave) & 3;
  return static_cast<std::size_t>(4 * static_cast<std::uint64_t>(octave) + quarter + 1);
}

}  // namespace cohom::kernels::body
