#pragma once
// The parameter `dither` of codecs, and what a rank needs for correlated dither.

#include "codecs/common/parameters.hpp"
#include "kernels/core/dither.hpp"

#include <cstdint>
#include <vector>

namespace cohom {

/// Reads `dither`; its default (auto) is correlated, or nearest with error feedback: dither and
/// feedback together were measured to diverge at few bits.
kernels::Dither read_dither(const ParameterReader& reader, bool error_feedback);

/// Offsets of a rank's correlated dither in 1/256, one for each unit a of the integers modulo
/// `ranks`: floor(256 (a rank mod ranks) / ranks).
std::vector<std::uint8_t> correlated_offsets(std::uint32_t rank, std::uint32_t ranks);

}  // namespace cohom
