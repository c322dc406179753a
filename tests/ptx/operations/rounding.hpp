#pragma once
// How a result is rounded, as an opcode says it: of values "rn", "rz", "rm", "rp", to integers with
// an "i".

#include "ptx/opcode.hpp"

#include <cstdint>

namespace cohom::ptx {

enum class Rounding : std::uint8_t { none, nearest, to_zero, down, up };

inline Rounding rounding_of(const Opcode& opcode) {
  if (opcode.has("rn") || opcode.has("rni")) return Rounding::nearest;
  if (opcode.has("rz") || opcode.has("rzi")) return Rounding::to_zero;
  if (opcode.has("rm") || opcode.has("rmi")) return Rounding::down;
  if (opcode.has("rp") || opcode.has("rpi")) return Rounding::up;
  return Rounding::none;
}

/// Said, or meant where nothing is.
inline bool is_to_nearest(const Opcode& opcode) {
  return rounding_of(opcode) == Rounding::nearest || rounding_of(opcode) == Rounding::none;
}

}  // namespace cohom::ptx
