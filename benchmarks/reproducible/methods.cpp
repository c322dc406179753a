#include "reproducible/method.hpp"

namespace cohom::bench {

template <class T>
std::span<const MethodRow<T>> methods() {
  static constexpr MethodRow<T> rows[] = {
      {"plain", "each rank adds its vectors, MPI_Allreduce their sums", make_plain<T>},
      {"kahan", "as plain, but each rank keeps what rounding takes", make_kahan<T>},
      {"double-double", "all keep what rounding takes, by an MPI_Op", make_double_double<T>},
      {"reprosum", "integers of one common power of two, as in E3SM", make_reprosum<T>},
      {"binned", "bins at fixed places, as in ReproBLAS, by an MPI_Op", make_binned<T>},
      {"exact", "cohom::ExactSum: rounded once", make_exact<T>},
  };
  return rows;
}

template std::span<const MethodRow<float>> methods();
template std::span<const MethodRow<double>> methods();

}  // namespace cohom::bench
