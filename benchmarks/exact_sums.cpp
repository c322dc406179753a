#include "exact_sums.hpp"

#include <algorithm>

namespace cohom::bench {
namespace {

constexpr std::size_t most_kept = std::size_t{1} << 24;

}  // namespace

ExactSums::ExactSums(const Elements& input, MPI_Comm comm)
    : input_(input),
      comm_(comm),
      kept_(input.count <= most_kept),
      sums_(kept_ ? input.count : elements_at_a_time) {
  if (!kept_) return;
  for (std::size_t first = 0; first < input.count; first += elements_at_a_time)
    sum(first, std::span(sums_).subspan(first, std::min(elements_at_a_time, input.count - first)));
}

std::span<const double> ExactSums::of(std::size_t first, std::size_t count) {
  if (kept_) return std::span(sums_).subspan(first, count);
  const std::span<double> part = std::span(sums_).first(count);
  sum(first, part);
  return part;
}

void ExactSums::sum(std::size_t first, std::span<double> sums) const {
  load(input_.type, input_.at(first), sums);
  MPI_Allreduce(MPI_IN_PLACE, sums.data(), static_cast<int>(sums.size()), MPI_DOUBLE, MPI_SUM,
                comm_);
}

}  // namespace cohom::bench
