#include "aggregation/server/slot_ranges.hpp"

#include <algorithm>

namespace cohom::offload {

std::optional<std::uint32_t> SlotRanges::take(std::uint32_t count, Clock::time_point now) {
  std::erase_if(runs_,
                [&](const Run& run) { return run.given_back && now - *run.given_back >= rest_; });
  std::uint32_t first = 0;
  auto behind = runs_.begin();
  for (; behind != runs_.end() && behind->first - first < count; ++behind)
    first = behind->first + behind->count;
  if (count == 0 || first > slots_ || slots_ - first < count) return std::nullopt;
  runs_.insert(behind, {first, count, std::nullopt});
  return first;
}

void SlotRanges::give_back(std::uint32_t first, Clock::time_point now) {
  const auto run =
      std::ranges::find_if(runs_, [&](const Run& r) { return r.first == first && !r.given_back; });
  if (run != runs_.end()) run->given_back = now;
}

std::uint32_t SlotRanges::free() const {
  std::uint32_t used = 0;
  for (const Run& run : runs_)
    if (!run.given_back) used += run.count;
  return slots_ - used;
}

}  // namespace cohom::offload
