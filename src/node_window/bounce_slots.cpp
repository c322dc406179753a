#include "node_window/bounce_slots.hpp"

#include <chrono>
#include <cstring>

namespace cohom {

namespace {

static_assert(bounce_slot_count == 64, "a bit each");

/// Shorter parts are copied before a clock would tell anything.
constexpr std::size_t least_timed_bytes = std::size_t{16} << 10;

}  // namespace

std::optional<BounceSlots::Run> BounceSlots::take_free(std::size_t bytes, bool of_reserve) {
  const std::uint32_t end = of_reserve ? bounce_slot_count : usual_slots;
  Run run{.first = of_reserve ? usual_slots : 0,
          .count = static_cast<std::uint32_t>(WindowLayout::slots_of(bytes))};
  while (run.first + run.count <= end && (free_ & bits_of(run)) != bits_of(run)) ++run.first;
  if (run.first + run.count > end) return std::nullopt;
  if ((touched_ & bits_of(run)) != bits_of(run))
    window_.take_pages(first_ + run.first * WindowLayout::slot_bytes,
                       run.count * WindowLayout::slot_bytes);
  in_use_.push_back(run);
  touched_ |= bits_of(run);
  free_ &= ~bits_of(run);
  return run;
}

std::size_t BounceSlots::fill(const Run& run, std::span<const std::byte> part) {
  const std::size_t offset = first_ + run.first * WindowLayout::slot_bytes;
  auto* const to = window_.at<std::byte>(offset);
  if (part.size() < least_timed_bytes) {
    std::memcpy(to, part.data(), part.size());
    return offset;
  }
  using Clock = std::chrono::steady_clock;
  const bool past_caches = copies_.next();
  const auto begin = Clock::now();
  if (past_caches)
    copy_past_caches(to, part.data(), part.size());
  else
    std::memcpy(to, part.data(), part.size());
  const auto time = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin);
  copies_.took(past_caches, part.size(), static_cast<std::uint64_t>(time.count()));
  return offset;
}

}  // namespace cohom
