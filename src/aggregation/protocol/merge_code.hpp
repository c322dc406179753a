#pragma once
// How a merge is written in the header of packets and messages.

#include "aggregation/protocol/packet.h"

#include <cohom/element_type.hpp>
#include <cohom/merge.hpp>

#include <cstdint>
#include <optional>

namespace cohom::offload {

/// Of add_float, the type is added. Packets have no merges of floats.
inline constexpr std::uint8_t code_of_add_float = 16;

static_assert(int(MergeKind::add) == cohom_merge_add && int(MergeKind::bit_or) == cohom_merge_or &&
              int(MergeKind::max) == cohom_merge_max);

/// None: no aggregator merges so.
constexpr std::optional<std::uint8_t> merge_code(Merge merge) {
  switch (merge.kind) {
    case MergeKind::add:
    case MergeKind::bit_or:
    case MergeKind::max: return static_cast<std::uint8_t>(merge.kind);
    case MergeKind::add_float:
      return static_cast<std::uint8_t>(code_of_add_float + int(merge.type));
    case MergeKind::add_packed: break;
  }
  return std::nullopt;
}

/// None: no merge is written so.
constexpr std::optional<Merge> merge_of_code(std::uint8_t code) {
  if (code <= cohom_merge_max) return Merge{static_cast<MergeKind>(code)};
  for (const ElementType type : all_element_types)
    if (code == code_of_add_float + int(type)) return Merge{MergeKind::add_float, type};
  return std::nullopt;
}

}  // namespace cohom::offload
