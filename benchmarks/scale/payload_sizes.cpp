#include "scale/payload_sizes.hpp"

#include <algorithm>

namespace cohom::bench {

PayloadSizes::PayloadSizes(SlotBytes bytes, const Chunking& cut)
    : slot_bytes_(std::move(bytes)), counts_(cut.chunks()) {
  for (std::size_t chunk = 0; chunk < counts_.size(); ++chunk) {
    for (const std::size_t piece : cut.pieces_of_chunk(chunk))
      counts_[chunk].push_back(cut.pieces()[piece].count);
    most_units_ = std::max(most_units_, counts_[chunk].size());
  }
  elements_ = sums_of([](std::size_t count) { return std::uint64_t{count}; });
}

template <class Measure>
PayloadSizes::Sums PayloadSizes::sums_of(Measure measure) const {
  std::map<std::size_t, std::uint64_t> known = {{0, 0}};  // most chunks are alike
  Sums sums(most_units_, std::vector<std::uint64_t>(counts_.size() + 1));
  for (std::size_t unit = 0; unit < most_units_; ++unit)
    for (std::size_t chunk = 0; chunk < counts_.size(); ++chunk) {
      const std::size_t count = unit < counts_[chunk].size() ? counts_[chunk][unit] : 0;
      const auto [entry, is_new] = known.try_emplace(count, 0);
      if (is_new) entry->second = measure(count);
      sums[unit][chunk + 1] = sums[unit][chunk] + entry->second;
    }
  return sums;
}

/// Chunks that have fewer pieces lie after the others.
std::uint32_t PayloadSizes::units(const ChunkRange& chunks) const {
  return static_cast<std::uint32_t>(counts_[chunks.first].size());
}

std::uint64_t PayloadSizes::elements(const ChunkRange& chunks, std::uint32_t unit) const {
  return between(elements_, chunks, unit);
}

std::uint64_t PayloadSizes::bytes(const Slot& slot, std::uint32_t unit) {
  const auto [entry, is_new] = bytes_.try_emplace({slot.form, slot.contributions});
  if (is_new) entry->second = sums_of([&](std::size_t count) { return slot_bytes_(slot, count); });
  return between(entry->second, slot.chunks, unit);
}

}  // namespace cohom::bench
