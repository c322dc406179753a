#include "rounded_sums.hpp"

#include "element_values.hpp"
#include "long_sum.hpp"

#include <algorithm>
#include <span>

namespace cohom::bench {
namespace {

double value_at(const Elements& vector, std::size_t element) {
  double value = 0;
  load(vector.type, vector.at(element), {&value, 1});
  return value;
}

}  // namespace

/// Each rank makes the sums of a part of each window, and gives them to all.
RoundedSums::RoundedSums(const Elements& input, ReduceOp op, MPI_Comm comm)
    : comm_(comm), sample_(input.count), expected_(sample_.size()) {
  int number_of_ranks = 1;
  MPI_Comm_size(comm, &number_of_ranks);
  const auto ranks = static_cast<std::size_t>(number_of_ranks);
  const std::size_t part = (std::min(elements_at_a_time, sample_.size()) + ranks - 1) / ranks;
  const int part_count = static_cast<int>(part);
  std::vector<double> own(part * ranks), all(part * ranks), sums(part), gathered(part * ranks);
  LongSum sum;
  for (std::size_t first = 0; first < sample_.size(); first += own.size()) {
    const std::size_t count = std::min(own.size(), sample_.size() - first);
    for (std::size_t i = 0; i < count; ++i) own[i] = value_at(input, sample_[first + i]);
    MPI_Alltoall(own.data(), part_count, MPI_DOUBLE, all.data(), part_count, MPI_DOUBLE, comm);
    for (std::size_t i = 0; i < part; ++i) {
      sum.clear();
      for (std::size_t rank = 0; rank < ranks; ++rank) sum.add(all[rank * part + i]);
      sums[i] = sum.rounded(input.type, op == ReduceOp::mean ? ranks : 1);
    }
    MPI_Allgather(sums.data(), part_count, MPI_DOUBLE, gathered.data(), part_count, MPI_DOUBLE,
                  comm);
    std::ranges::copy(std::span(gathered).first(count),
                      expected_.begin() + static_cast<std::ptrdiff_t>(first));
  }
}

RoundedCount RoundedSums::count_in(const Elements& result) const {
  RoundedCount count{.checked = sample_.size()};
  for (std::size_t k = 0; k < sample_.size(); ++k)
    count.correct += same_number(expected_[k], value_at(result, sample_[k])) ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &count.correct, 1, MPI_UINT64_T, MPI_MIN, comm_);
  return count;
}

}  // namespace cohom::bench
