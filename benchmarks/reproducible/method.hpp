#pragma once
// Method: a way of adding the vectors of all ranks.

#include "reproducible/local_vectors.hpp"

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace cohom::bench {

/// What all calls of a method have in common.
struct SumSize {
  std::size_t elements = 0;  ///< of each vector
  std::size_t vectors = 0;   ///< of all ranks together
  MPI_Comm comm = MPI_COMM_NULL;
};

/// Of elements of type T, float or double.
template <class T>
class Method {
 public:
  virtual ~Method() = default;

  /// Before a sum. Local. @throws InputError naming a number that the method cannot add
  virtual void check(const LocalVectors<T>& /*vectors*/) const {}

  /// Writes the sum of all vectors of all ranks to `out`. Collective.
  virtual void sum(const LocalVectors<T>& vectors, std::span<T> out) = 0;

  /// What a rank gave to MPI's collectives in the last sum; of `exact`, the bytes of a vector
  /// of which a ring sends as many as it sent.
  [[nodiscard]] virtual std::uint64_t bytes() const = 0;
};

template <class T>
struct MethodRow {
  std::string_view name;
  std::string_view text;  ///< what it does, for --help
  /// Collective.
  std::unique_ptr<Method<T>> (*make)(const SumSize&);
};

/// All that there are. Alike for all T.
template <class T>
std::span<const MethodRow<T>> methods();

template <class T>
std::unique_ptr<Method<T>> make_plain(const SumSize& size);
template <class T>
std::unique_ptr<Method<T>> make_kahan(const SumSize& size);
template <class T>
std::unique_ptr<Method<T>> make_double_double(const SumSize& size);
template <class T>
std::unique_ptr<Method<T>> make_reprosum(const SumSize& size);
template <class T>
std::unique_ptr<Method<T>> make_binned(const SumSize& size);
template <class T>
std::unique_ptr<Method<T>> make_exact(const SumSize& size);

}  // namespace cohom::bench
