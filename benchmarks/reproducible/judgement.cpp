#include "reproducible/judgement.hpp"

#include "element_values.hpp"
#include "shared_failure.hpp"

#include <xxhash.h>

#include <array>

namespace cohom::bench {
namespace {

// Elements whose sums are made at a time.
constexpr std::size_t window = 1 << 12;

/// Of elements first ... first + out.size() - 1.
void add_part(VectorSource& source, std::size_t vectors, std::size_t first, ElementType type,
              std::span<double> out) {
  std::vector<LongSum> sums(out.size());
  std::vector<double> values(out.size());
  std::vector<std::byte> elements(out.size() * size_of(type));
  for (std::size_t v = 0; v < vectors; ++v) {
    source.generate(v, first, values);
    store(type, values, elements.data());  // as ranks have them
    load(type, elements.data(), values);
    for (std::size_t i = 0; i < out.size(); ++i) sums[i].add(values[i]);
  }
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = sums[i].rounded(type);
}

}  // namespace

std::vector<double> correctly_rounded_sums(VectorSource& source, std::size_t vectors,
                                           std::size_t elements, ElementType type, MPI_Comm comm) {
  int rank = 0, number_of_ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &number_of_ranks);
  const auto ranks = static_cast<std::size_t>(number_of_ranks);
  const std::size_t part = (elements + ranks - 1) / ranks;
  std::vector<double> sums(part * ranks);
  run_on_all_ranks(comm, [&] {
    const std::size_t begin = std::min(elements, static_cast<std::size_t>(rank) * part);
    const std::size_t end = std::min(elements, begin + part);
    for (std::size_t first = begin; first < end; first += window)
      add_part(source, vectors, first, type,
               std::span(sums).subspan(first, std::min(window, end - first)));
  });
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, sums.data(), static_cast<int>(part), MPI_DOUBLE,
                comm);
  sums.resize(elements);
  return sums;
}

std::uint64_t common_hash(std::span<const std::byte> bytes, MPI_Comm comm, bool& identical) {
  std::uint64_t hash = XXH3_64bits(bytes.data(), bytes.size());
  // The least hash and the complement of the largest, in one reduction.
  std::array<std::uint64_t, 2> extremes = {hash, ~hash};
  MPI_Allreduce(MPI_IN_PLACE, extremes.data(), 2, MPI_UINT64_T, MPI_MIN, comm);
  identical = extremes[0] == ~extremes[1];
  MPI_Bcast(&hash, 1, MPI_UINT64_T, 0, comm);
  return hash;
}

}  // namespace cohom::bench
