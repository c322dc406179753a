#include "mpi_agreement.hpp"

#include "mpi_check.hpp"
#include "operations.hpp"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <numeric>
#include <string>

namespace cohom::mpi {

namespace {

int rank_of(MPI_Comm comm) {
  int rank = 0;
  check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  return rank;
}

int ranks_of(MPI_Comm comm) {
  int ranks = 0;
  check(MPI_Comm_size(comm, &ranks), "MPI_Comm_size");
  return ranks;
}

}  // namespace

void throw_on_all_ranks(MPI_Comm comm, const std::optional<Error>& own) {
  const int ranks = ranks_of(comm);
  int failing = own ? rank_of(comm) : ranks;
  const Operation& smallest = Operations::of_process()[OperationId::min_int];
  check(MPI_Allreduce(MPI_IN_PLACE, &failing, 1, smallest.type, smallest.op, comm),
        "MPI_Allreduce");
  if (failing == ranks) return;
  std::uint32_t kind = own ? static_cast<std::uint32_t>(own->kind()) : 0;
  std::string text = "rank " + std::to_string(failing) + ": " + (own ? own->what() : "");
  text.resize(512);
  check(MPI_Bcast(&kind, 1, MPI_UINT32_T, failing, comm), "MPI_Bcast");
  check(MPI_Bcast(text.data(), static_cast<int>(text.size()), MPI_CHAR, failing, comm),
        "MPI_Bcast");
  throw Error(static_cast<ErrorKind>(kind), text.c_str());
}

std::pair<std::int64_t, std::int64_t> extremes(MPI_Comm comm, std::int64_t own) {
  const Operation& largest = Operations::of_process()[OperationId::max_i64];
  std::int64_t numbers[2] = {-own, own};
  check(MPI_Allreduce(MPI_IN_PLACE, numbers, 2, largest.type, largest.op, comm), "MPI_Allreduce");
  return {-numbers[0], numbers[1]};
}

std::vector<std::vector<std::byte>> gather_bytes(MPI_Comm comm, std::span<const std::byte> own) {
  const auto ranks = static_cast<std::size_t>(ranks_of(comm));
  const int size = static_cast<int>(own.size());
  std::vector<int> sizes(ranks), begins(ranks);
  check(MPI_Allgather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, comm), "MPI_Allgather");
  if (std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) > INT_MAX)
    throw Error(ErrorKind::transport,
                "what the ranks have to tell each other is longer than 2 GiB");
  std::exclusive_scan(sizes.begin(), sizes.end(), begins.begin(), 0);
  std::vector<std::byte> all(static_cast<std::size_t>(begins.back() + sizes.back()));
  check(MPI_Allgatherv(own.data(), size, MPI_BYTE, all.data(), sizes.data(), begins.data(),
                       MPI_BYTE, comm),
        "MPI_Allgatherv");
  std::vector<std::vector<std::byte>> by_rank;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    by_rank.emplace_back(all.begin() + begins[rank], all.begin() + begins[rank] + sizes[rank]);
  return by_rank;
}

}  // namespace cohom::mpi
