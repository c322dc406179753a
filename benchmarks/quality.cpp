#include "quality.hpp"

#include "element_values.hpp"
#include "error_ratio.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <span>

namespace cohom::bench {
namespace {

double largest_over_ranks(double value, MPI_Comm comm) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, comm);
  return value;
}

}  // namespace

void QualityMeter::add_result(const Elements& result) {
  hash_ = XXH3_64bits(result.bytes.data(), result.bytes.size());
  // The least hash and the complement of the largest, in one reduction.
  std::array<std::uint64_t, 2> extremes = {hash_, ~hash_};
  MPI_Allreduce(MPI_IN_PLACE, extremes.data(), 2, MPI_UINT64_T, MPI_MIN, comm_);
  identical_ = identical_ && extremes[0] == ~extremes[1];
  MPI_Bcast(&hash_, 1, MPI_UINT64_T, 0, comm_);

  if (steps_ == 1) return;
  running_sum_.resize(result.count);
  std::vector<double> values(std::min(elements_at_a_time, result.count));
  for (std::size_t first = 0; first < result.count; first += elements_at_a_time) {
    const auto part = std::span(values).first(std::min(elements_at_a_time, result.count - first));
    load(result.type, result.at(first), part);
    for (std::size_t i = 0; i < part.size(); ++i) running_sum_[first + i] += part[i];
  }
}

Quality QualityMeter::finish(ExactSums& sums, const Elements& last_result, ReduceOp op) const {
  int ranks = 1;
  MPI_Comm_size(comm_, &ranks);
  ErrorRatio last, running;
  double max_abs_error = 0;
  std::vector<double> found(std::min(elements_at_a_time, last_result.count));
  for (std::size_t first = 0; first < last_result.count; first += elements_at_a_time) {
    const std::size_t count = std::min(elements_at_a_time, last_result.count - first);
    const std::span<const double> exact = sums.of(first, count);
    load(last_result.type, last_result.at(first), std::span(found).first(count));
    for (std::size_t i = 0; i < count; ++i) {
      const double expected = op == ReduceOp::mean ? exact[i] / ranks : exact[i];
      last.add(expected, found[i]);
      max_abs_error = std::max(max_abs_error, deviation(expected, found[i]));
      if (!running_sum_.empty()) running.add(steps_ * expected, running_sum_[first + i]);
    }
  }
  Quality quality;
  quality.vnmse = largest_over_ranks(last.value(), comm_);
  quality.max_abs_error = largest_over_ranks(max_abs_error, comm_);
  if (steps_ > 1) quality.vnmse_running_sum = largest_over_ranks(running.value(), comm_);
  quality.identical_across_ranks = identical_;
  quality.result_hash = hash_;
  return quality;
}

std::string hash_text(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

}  // namespace cohom::bench
