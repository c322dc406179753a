#pragma once
// PayloadSizes: bytes of what a schedule's slots hold, segment by segment.

#include "executor/chunking.hpp"
#include "schedule/schedule.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace cohom::bench {

/// Bytes of a run of elements in a slot, by the slot's form and contributions.
using SlotBytes = std::function<std::uint64_t(const Slot& slot, std::size_t elements)>;

class PayloadSizes {
 public:
  PayloadSizes(SlotBytes bytes, const Chunking& cut);

  /// Segments of the longest of these chunks; none of chunks without elements.
  [[nodiscard]] std::uint32_t segments(const ChunkRange& chunks) const;
  [[nodiscard]] std::uint64_t elements(const ChunkRange& chunks, std::uint32_t segment) const;
  /// Of one segment of each of the slot's chunks.
  [[nodiscard]] std::uint64_t bytes(const Slot& slot, std::uint32_t segment);

 private:
  /// Of the chunks before each one, by segment.
  using Sums = std::vector<std::vector<std::uint64_t>>;

  template <class Measure>
  [[nodiscard]] Sums sums_of(Measure measure) const;
  static std::uint64_t between(const Sums& sums, const ChunkRange& chunks, std::uint32_t segment) {
    return sums[segment][chunks.end()] - sums[segment][chunks.first];
  }

  SlotBytes slot_bytes_;
  std::vector<std::vector<std::size_t>> counts_;  ///< elements, by chunk and segment
  std::size_t most_segments_ = 0;
  Sums elements_;
  std::map<std::pair<Form, std::uint32_t>, Sums> bytes_;  ///< by form and contributions
};

}  // namespace cohom::bench
