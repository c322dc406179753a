#pragma once
// Judgement: a result beside the correctly rounded sum.

#include "reproducible/number_order.hpp"
#include "reproducible/vector_source.hpp"

#include "long_sum.hpp"

#include <cohom/element_type.hpp>

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohom::bench {

struct Judgement {
  std::uint64_t hash = 0;  ///< XXH3 of the result's bytes, of rank 0
  bool identical_across_ranks = true;
  std::size_t correctly_rounded = 0;  ///< elements that are, to the bit
  std::uint64_t max_ulp = 0;          ///< numbers of the type from the correctly rounded sum
  double mean_ulp = 0;
};

/// The correctly rounded sums of all vectors, on every rank. Each makes a part. Collective.
std::vector<double> correctly_rounded_sums(VectorSource& source, std::size_t vectors,
                                           std::size_t elements, ElementType type, MPI_Comm comm);

/// XXH3 of bytes. Sets `identical` to whether all ranks have the same ones. Collective.
std::uint64_t common_hash(std::span<const std::byte> bytes, MPI_Comm comm, bool& identical);

/// Collective; errors are those of this rank.
template <class T>
Judgement judge(std::span<const T> result, std::span<const double> expected, MPI_Comm comm) {
  Judgement judgement;
  judgement.hash = common_hash(std::as_bytes(result), comm, judgement.identical_across_ranks);
  double ulps = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const auto right = static_cast<T>(expected[i]);
    const std::uint64_t apart = places_apart(right, result[i]);
    judgement.correctly_rounded += same_number(expected[i], static_cast<double>(result[i])) ? 1 : 0;
    judgement.max_ulp = std::max(judgement.max_ulp, apart);
    ulps += static_cast<double>(apart);
  }
  judgement.mean_ulp = ulps / static_cast<double>(result.size());
  return judgement;
}

}  // namespace cohom::bench
