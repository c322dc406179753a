#include "mpi_ext/drop_in/drop_in_call.hpp"

#include "mpi_ext/base/mpi_check.hpp"

namespace cohom::mpi {

namespace {

int reduce_scatter_by_mpi(const DropInCall& call) {
  const auto& [sendbuf, recvbuf, count, datatype, op, comm, site, collective] = call;
#if MPI_VERSION >= 4
  if (count != static_cast<int>(count)) {
    static const auto next_of_large =
        next_function("MPI_Reduce_scatter_block_c", &PMPI_Reduce_scatter_block_c);
    return next_of_large(sendbuf, recvbuf, count, datatype, op, comm);
  }
#endif
  static const auto next = next_function("MPI_Reduce_scatter_block", &PMPI_Reduce_scatter_block);
  return next(sendbuf, recvbuf, static_cast<int>(count), datatype, op, comm);
}

}  // namespace

int DropInCall::by_mpi() const {
  if (scatters()) return reduce_scatter_by_mpi(*this);
#if MPI_VERSION >= 4
  if (count != static_cast<int>(count)) {
    static const auto next_of_large = next_function("MPI_Allreduce_c", &PMPI_Allreduce_c);
    return next_of_large(sendbuf, recvbuf, count, datatype, op, comm);
  }
#endif
  static const auto next = next_function("MPI_Allreduce", &PMPI_Allreduce);
  return next(sendbuf, recvbuf, static_cast<int>(count), datatype, op, comm);
}

std::optional<ElementType> element_type(MPI_Datatype datatype) {
  if (datatype == MPI_FLOAT) return ElementType::f32;
  if (datatype == MPI_DOUBLE) return ElementType::f64;
  for (const MPI_Datatype real : {MPI_REAL, MPI_REAL4, MPI_DOUBLE_PRECISION, MPI_REAL8}) {
    if (datatype != real || real == MPI_DATATYPE_NULL) continue;
    int size = 0;
    check(MPI_Type_size(real, &size), "MPI_Type_size");
    if (size == 4) return ElementType::f32;
    if (size == 8) return ElementType::f64;
  }
  return std::nullopt;
}

}  // namespace cohom::mpi
