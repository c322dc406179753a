#pragma once
// The ways in which two payloads are merged: all that a ring, a switch or a fabric must know.

#include <cohom/cxx20.hpp>

#include <cohom/element_type.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace cohom {

/// A payload is a run of 64-bit words. Two payloads of one section are merged word by word. Numbers
/// stay as they are: aggregators tell clients what they support by a bit for each.
enum class MergeKind : std::uint8_t {
  add,     ///< 64-bit integer addition of packed lanes; headroom is proven, no carry leaves a lane
  bit_or,  ///< 64-bit bitwise or
  max,     ///< unsigned maximum of each 32-bit half
  add_packed,  ///< integers in mini-blocks of their own width; the length varies up to a capacity
  add_float,   ///< floating-point addition of elements of `Merge::type`, in an order fixed by rank
               ///< numbers
  max8,        ///< unsigned maximum of each 8-bit part
  max16,       ///< unsigned maximum of each 16-bit part
};

struct Merge {
  MergeKind kind = MergeKind::add;
  ElementType type = ElementType::f32;  ///< only for add_float

  friend bool operator==(const Merge&, const Merge&) = default;
};

constexpr std::string_view name_of(MergeKind kind) noexcept {
  switch (kind) {
    case MergeKind::add: return "add";
    case MergeKind::bit_or: return "or";
    case MergeKind::max: return "max";
    case MergeKind::add_packed: return "add_packed";
    case MergeKind::add_float: return "add_float";
    case MergeKind::max8: return "max8";
    case MergeKind::max16: return "max16";
  }
  return "?";
}

/// "add", "add_float of f32", ...
inline std::string to_string(const Merge& merge) {
  const std::string text(name_of(merge.kind));
  return merge.kind == MergeKind::add_float ? text + " of " + std::string(name_of(merge.type))
                                            : text;
}

/// narrow: one rank's contribution in as few bits as it needs. wide: the form of a sum.
enum class Form : std::uint8_t { narrow, wide };

}  // namespace cohom
