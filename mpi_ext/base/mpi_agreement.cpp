#include "mpi_ext/base/mpi_agreement.hpp"

#include "base/failure.hpp"
#include "mpi_ext/base/mpi_check.hpp"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <numeric>
#include <string>

namespace cohom::mpi {

namespace {

int ranks_of(MPI_Comm comm) {
  int ranks = 0;
  check(MPI_Comm_size(comm, &ranks), "MPI_Comm_size");
  return ranks;
}

/// No reduction: which operations MPI gets right is not known before the ranks have agreed.
template <class T>
std::vector<T> gather(MPI_Comm comm, T own, MPI_Datatype type) {
  std::vector<T> all(static_cast<std::size_t>(ranks_of(comm)));
  check(MPI_Allgather(&own, 1, type, all.data(), 1, type, comm), "MPI_Allgather");
  return all;
}

}  // namespace

void throw_on_all_ranks(MPI_Comm comm, const std::optional<Error>& own) {
  const auto fails = gather<int>(comm, own ? 1 : 0, MPI_INT);
  const auto first = std::ranges::find(fails, 1);
  if (first == fails.end()) return;
  const int failing = static_cast<int>(first - fails.begin());
  std::uint32_t kind = own ? static_cast<std::uint32_t>(own->kind()) : 0;
  std::string text = "rank " + std::to_string(failing) + ": " + (own ? own->what() : "");
  text.resize(512);
  check(MPI_Bcast(&kind, 1, MPI_UINT32_T, failing, comm), "MPI_Bcast");
  check(MPI_Bcast(text.data(), static_cast<int>(text.size()), MPI_CHAR, failing, comm),
        "MPI_Bcast");
  throw Error(static_cast<ErrorKind>(kind), text.c_str());
}

std::vector<std::uint64_t> gather_numbers(MPI_Comm comm, std::uint64_t own) {
  return gather<std::uint64_t>(comm, own, MPI_UINT64_T);
}

std::vector<std::uint64_t> tell_all(MPI_Comm comm, const std::function<std::uint64_t()>& local) {
  std::uint64_t own = 0;
  std::optional<Error> error;
  try {
    own = local();
  } catch (...) {
    error = current_failure("what the ranks tell each other");
  }
  throw_on_all_ranks(comm, error);
  return gather_numbers(comm, own);
}

JobRank job_rank() {
  int rank = 0;
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  return {.rank = static_cast<std::uint32_t>(rank),
          .ranks = static_cast<std::uint32_t>(ranks_of(MPI_COMM_WORLD))};
}

std::vector<std::vector<std::byte>> gather_bytes(MPI_Comm comm, std::span<const std::byte> own) {
  const int size = static_cast<int>(own.size());
  const auto sizes = gather<int>(comm, size, MPI_INT);
  const std::size_t ranks = sizes.size();
  std::vector<int> begins(ranks);
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
