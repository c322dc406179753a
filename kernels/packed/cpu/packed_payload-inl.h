// Reading and writing payloads group by group, never outside of their words: vectors are loaded and
// stored whole, so what lies near an end is moved by way of a copy.

#if defined(COHOM_PACKED_PAYLOAD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef COHOM_PACKED_PAYLOAD_INL_H
#undef COHOM_PACKED_PAYLOAD_INL_H
#else
#define COHOM_PACKED_PAYLOAD_INL_H
#endif

#include "kernels/packed/body/packed_payload.hpp"
#include "kernels/packed/cpu/packed_planes-inl.h"

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace cohom::kernels {
namespace HWY_NAMESPACE {

/// Room for a copy of a group's planes.
struct PlanesOfGroup {
  static constexpr std::ptrdiff_t max_words = packed_minis * packed_max_width + lanes32;

  std::uint32_t words[HWY_MAX_BYTES == 64 ? 1 : max_words];  // AVX-512 reads only what is wanted
};

/// A payload's groups one after another.
class PackedReader {
 public:
  /// False when it is no payload of `groups` groups.
  [[gnu::flatten]] bool parse(ConstPackedPayload words, std::size_t groups) {
    end_ = reinterpret_cast<const std::uint32_t*>(words.data() + words.size());
    return body::parse_packed(words, groups, parts_);
  }

  [[nodiscard]] bool based() const { return parts_.based; }
  [[nodiscard]] HWY_INLINE const std::uint32_t* header(std::size_t g) const {
    return parts_.headers + g * packed_header;
  }
  [[nodiscard]] HWY_INLINE std::uint32_t base(std::size_t g) const {
    return parts_.based ? parts_.bases[g] : 0;
  }
  /// Where the planes begin that were not read yet.
  [[nodiscard]] const std::uint32_t* position() const { return parts_.planes; }

  /// Where the next group's planes can be read, and a vector beyond their end: in `copy` if need
  /// be.
  HWY_INLINE const std::uint32_t* planes(const WidthMasks& masks, PlanesOfGroup& copy) const {
    if (HWY_MAX_BYTES == 64 || end_ - parts_.planes >= PlanesOfGroup::max_words)
      return parts_.planes;
    std::memcpy(copy.words, parts_.planes, masks.words() * sizeof *copy.words);
    return copy.words;
  }
  /// Goes on behind the words that were read of them.
  HWY_INLINE void skip(std::ptrdiff_t words) { parts_.planes += words; }

  HWY_INLINE void read(const WidthMasks& masks, Planes& to) {
    PlanesOfGroup copy;
    const std::uint32_t* const from = planes(masks, copy);
    skip(read_planes(from, masks, to) - from);
  }

 private:
  body::PackedParts<const std::uint32_t> parts_;
  const std::uint32_t* end_ = nullptr;
};

/// A new payload's parts, and the end of the memory it has.
struct PackedOutput {
  body::PackedParts<std::uint32_t> parts;
  const std::uint32_t* end;

  PackedOutput(std::uint64_t* words, std::size_t groups, bool based)
      : parts(reinterpret_cast<std::uint32_t*>(words + 1), groups, based),
        end(parts.headers + 2 * (packed_capacity(groups * packed_group, based) - 1)) {}
};

/// Appends group g to a payload; its planes must not touch what lies at `end`.
HWY_INLINE void write_group(const Planes& planes, const WidthMasks& masks, std::uint32_t outliers,
                            std::size_t g, body::PackedParts<std::uint32_t>& parts,
                            const std::uint32_t* end) {
  write_header(masks, outliers, parts.headers + g * packed_header);
  // Whole vectors are stored. Most groups are far from the end, and need not be counted.
  const auto left = static_cast<std::size_t>(end - parts.planes);
  if (left >= packed_minis * masks.widest + lanes32) {
    parts.planes = compress_planes(planes, masks, parts.planes);
    return;
  }
  const std::size_t words = masks.words();
  std::uint32_t output[packed_minis * packed_max_width + lanes32];
  compress_planes(planes, masks, output);
  std::memcpy(parts.planes, output, words * sizeof *output);
  parts.planes += words;
}

}  // namespace HWY_NAMESPACE
}  // namespace cohom::kernels
HWY_AFTER_NAMESPACE();

#endif
