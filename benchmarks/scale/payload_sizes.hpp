#pragma once
// PayloadSizes: bytes of what a schedule's slots hold, message unit by message unit.

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

  /// As many as the longest of these chunks has pieces; none of chunks without elements.
  [[nodiscard]] std::uint32_t units(const ChunkRange& chunks) const;
  [[nodiscard]] std::uint64_t elements(const ChunkRange& chunks, std::uint32_t unit) const;
  /// Of one unit: a piece of each of the slot's chunks that has one of that number.
  [[nodiscard]] std::uint64_t bytes(const Slot& slot, std::uint32_t unit);

 private:
  /// Of the chunks before each one, by unit.
  using Sums = std::vector<std::vector<std::uint64_t>>;

  template <class Measure>
  [[nodiscard]] Sums sums_of(Measure measure) const;
  static std::uint64_t between(const Sums& sums, const ChunkRange& chunks, std::uint32_t unit) {
    return sums[unit][chunks.end()] - sums[unit][chunks.first];
  }

  SlotBytes slot_bytes_;
  std::vector<std::vector<std::size_t>> counts_;  ///< elements, by chunk and piece number
  std::size_t most_units_ = 0;
  Sums elements_;
  std::map<std::pair<Form, std::uint32_t>, Sums> bytes_;  ///< by form and contributions
};

}  // namespace cohom::bench
