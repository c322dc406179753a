#pragma once
// DropInCall: a program's call of MPI_Allreduce or MPI_Reduce_scatter_block, and how MPI makes it.

#include <cohom/element_type.hpp>
#include <cohom/reduction_kind.hpp>

#include <dlfcn.h>
#include <mpi.h>

#include <cstddef>
#include <optional>

namespace cohom::mpi {

struct DropInCall {
  const void* sendbuf;  ///< or MPI_IN_PLACE
  void* recvbuf;
  MPI_Count count;  ///< of a part for a reduce_scatter
  MPI_Datatype datatype;
  MPI_Op op;
  MPI_Comm comm;
  const void* site;                                     ///< where the program goes on after it
  ReductionKind collective = ReductionKind::allreduce;  ///< or reduce_scatter

  /// By the next library that has the function: MPI's, or another tool's in front of that.
  /// @returns its error code
  [[nodiscard]] int by_mpi() const;
  /// What the sum is of.
  [[nodiscard]] const void* input() const { return sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf; }
  /// Whether MPI's rules forbid buffers or count. Not each MPI notices.
  [[nodiscard]] bool is_wrong() const {
    return count < 0 || recvbuf == MPI_IN_PLACE || (sendbuf == recvbuf && count != 0);
  }
  [[nodiscard]] std::size_t elements() const { return static_cast<std::size_t>(count); }
  [[nodiscard]] bool scatters() const { return collective == ReductionKind::reduce_scatter; }
};

/// The next function of that name behind this library; `otherwise` where there is none.
template <class Function>
Function next_function(const char* name, Function otherwise) {
  void* const found = dlsym(RTLD_NEXT, name);
  return found != nullptr ? reinterpret_cast<Function>(found) : otherwise;
}

/// Of C's names and Fortran's; none: no type that the library adds for a program. @throws
/// Error(transport)
std::optional<ElementType> element_type(MPI_Datatype datatype);

}  // namespace cohom::mpi
