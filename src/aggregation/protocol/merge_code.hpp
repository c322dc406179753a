#pragma once
// How a merge is written in the header of packets and messages.

#include "aggregation/protocol/packet.h"

#include <cohom/element_type.hpp>
#include <cohom/merge.hpp>

#include <cstdint>
#include <iterator>
#include <optional>

namespace cohom::offload {

static_assert(int(MergeKind::add) == cohom_merge_add && int(MergeKind::bit_or) == cohom_merge_or &&
              int(MergeKind::max) == cohom_merge_max);
static_assert(cohom_merge_add_float + int(std::size(all_element_types)) == cohom_merge_end);

/// None: no aggregator merges so.
constexpr std::optional<std::uint8_t> merge_code(Merge merge) {
  switch (merge.kind) {
    case MergeKind::add:
    case MergeKind::bit_or:
    case MergeKind::max: return static_cast<std::uint8_t>(merge.kind);
    case MergeKind::max8: return std::uint8_t{cohom_merge_max8};
    case MergeKind::max16: return std::uint8_t{cohom_merge_max16};
    case MergeKind::add_float:
      return static_cast<std::uint8_t>(cohom_merge_add_float + int(merge.type));
    case MergeKind::add_packed: break;
  }
  return std::nullopt;
}

/// None: no merge is written so.
constexpr std::optional<Merge> merge_of_code(std::uint8_t code) {
  if (code <= cohom_merge_max) return Merge{static_cast<MergeKind>(code)};
  if (code == cohom_merge_max8) return Merge{MergeKind::max8};
  if (code == cohom_merge_max16) return Merge{MergeKind::max16};
  for (const ElementType type : all_element_types)
    if (code == cohom_merge_add_float + int(type)) return Merge{MergeKind::add_float, type};
  return std::nullopt;
}

}  // namespace cohom::offload
