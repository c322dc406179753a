#pragma once
// A packed payload as a whole: its first word, where headers, bases and planes lie, and whether
// they fit each other. All that reads a payload opens it here first, so nothing is read outside of
// it.

#include "kernels/core/hd.hpp"
#include "kernels/packed/body/packed_group.hpp"
#include "kernels/packed/packed.hpp"

#include <cstddef>
#include <cstdint>

namespace cohom::kernels::body {

inline constexpr std::uint64_t packed_based = std::uint64_t{1} << 31;

/// Word 0: groups, whether they have bases, and the u32 words that follow it.
COHOM_HD constexpr std::uint64_t packed_first_word(std::size_t groups, bool based,
                                                   std::size_t followers) {
  return groups | (based ? packed_based : 0) | static_cast<std::uint64_t>(followers) << 32;
}

/// Where the parts of a payload of `groups` groups lie.
template <class U32>
struct PackedParts {
  std::size_t groups = 0;
  bool based = false;
  U32* headers = nullptr;  ///< 5 a group
  U32* bases = nullptr;    ///< one a group, if `based`
  U32* planes = nullptr;   ///< group after group

  PackedParts() = default;
  COHOM_HD PackedParts(U32* start, std::size_t group_count, bool has_bases)
      : groups(group_count),
        based(has_bases),
        headers(start),
        bases(start + group_count * packed_header),
        planes(bases + (has_bases ? group_count : 0)) {}
};

/// Opens a payload; false when it is not one of `groups` groups.
COHOM_HD inline bool parse_packed(ConstPackedPayload words, std::size_t groups,
                                  PackedParts<const std::uint32_t>& parts) {
  if (words.empty()) return false;
  const std::uint64_t first = words[0];
  const std::size_t followers = first >> 32;
  const bool based = (first & packed_based) != 0;
  if ((first & (packed_based - 1)) != groups || words.size() != 1 + (followers + 1) / 2)
    return false;
  const std::size_t heads = groups * (packed_header + (based ? 1 : 0));
  if (followers < heads) return false;
  parts = {reinterpret_cast<const std::uint32_t*>(words.data() + 1), groups, based};
  std::size_t planes = 0;
  for (std::size_t g = 0; g < groups; ++g) planes += plane_words(parts.headers + g * packed_header);
  return planes == followers - heads;
}

/// Writes word 0 and the padding of a payload whose planes end at `end`; returns its words.
COHOM_HD inline std::size_t close_packed(std::uint64_t* words, std::size_t groups, bool based,
                                         std::uint32_t* end) {
  auto* const start = reinterpret_cast<std::uint32_t*>(words + 1);
  const auto followers = static_cast<std::size_t>(end - start);
  if (followers % 2 != 0) *end = 0;
  words[0] = packed_first_word(groups, based, followers);
  return 1 + (followers + 1) / 2;
}

}  // namespace cohom::kernels::body
