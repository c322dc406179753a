#include "rounds/round_shape.hpp"

#include <algorithm>

namespace cohom {

namespace {

bool can_reduce(const Merge& merge, const RoundsOptions& options) {
  switch (merge.kind) {
    case MergeKind::add:
    case MergeKind::max: return true;
    case MergeKind::bit_or: return options.has_bit_or;
    case MergeKind::max8:
    case MergeKind::max16: return options.has_small_max;
    case MergeKind::add_packed:
    case MergeKind::add_float: return false;  // floats: in the order of ranks
  }
  return false;
}

}  // namespace

RoundShape::RoundShape(const Round& round, std::size_t ranks, const RoundsOptions& options,
                       bool scatters)
    : round_(&round), ranks_(ranks), way_(way_by(options, scatters)) {}

RoundShape::Way RoundShape::way_by(const RoundsOptions& options, bool scatters) const {
  if (ranks_ == 1) return Way::reduce;
  const bool reduces = can_reduce(traits().merge, options);
  if (is_whole()) return reduces ? Way::reduce : Way::gather;
  const bool is_short =
      traits().time == RoundTime::before_payload && traits().algorithm == RoundAlgorithm::small;
  // Sums that room for all ranks makes far longer than a contribution, such as exact ones.
  const bool sums_are_long = traits().is_fallback() && traits().narrow();
  const bool owners_save = sums_are_long || (options.all_to_all && (ranks_ > 2 || scatters));
  if (reduces && (is_short || !owners_save)) return Way::reduce;
  return Way::owners;
}

bool RoundShape::finishes() const {
  if (ranks_ == 1) return false;
  return is_narrow() ? traits().finishes_promoted() : traits().finishes_sums();
}

std::size_t RoundShape::contribution_capacity(std::size_t elements) const {
  return round_->capacity(contributors(), elements);
}

std::size_t RoundShape::sum_capacity(std::size_t elements) const {
  const std::size_t capacity = round_->capacity(ranks_, elements);
  return traits().finishes_sums() && ranks_ > 1
             ? std::max(capacity, round_->finished_capacity(ranks_, elements))
             : capacity;
}

std::size_t RoundShape::sum_words(std::size_t elements) const {
  return traits().finishes_sums() ? round_->finished_capacity(ranks_, elements)
                                  : round_->capacity(ranks_, elements);
}

}  // namespace cohom
