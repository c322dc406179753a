// The names of MPI that the drop-in library takes. Whatever a program calls by them ends here, and
// goes on to the next library that has the name: MPI, or another tool in front of it.

#include "mpi_ext/base/fortran_buffer.hpp"
#include "mpi_ext/drop_in/drop_in.hpp"
#include "mpi_ext/drop_in/native_calls.hpp"

#include <mpi.h>

using cohom::ReductionKind;
using cohom::mpi::c_buffer;
using cohom::mpi::drop_in_keys;
using cohom::mpi::drop_in_other_form;
using cohom::mpi::drop_in_reduction;
using cohom::mpi::DropInCall;
using cohom::mpi::NativeCalls;
using cohom::mpi::next_function;
using cohom::mpi::OtherForm;

extern "C" {

int MPI_Allreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                  MPI_Comm comm) {
  const DropInCall call{sendbuf, recvbuf, count, datatype, op, comm, __builtin_return_address(0)};
  return NativeCalls::take(comm) ? call.by_mpi() : drop_in_reduction(call);
}

#if MPI_VERSION >= 4
int MPI_Allreduce_c(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                    MPI_Op op, MPI_Comm comm) {
  const DropInCall call{sendbuf, recvbuf, count, datatype, op, comm, __builtin_return_address(0)};
  return NativeCalls::take(comm) ? call.by_mpi() : drop_in_reduction(call);
}
#endif

int MPI_Reduce_scatter_block(const void* sendbuf, void* recvbuf, int recvcount,
                             MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  const DropInCall call{sendbuf,
                        recvbuf,
                        recvcount,
                        datatype,
                        op,
                        comm,
                        __builtin_return_address(0),
                        ReductionKind::reduce_scatter};
  return NativeCalls::take(comm) ? call.by_mpi() : drop_in_reduction(call);
}

#if MPI_VERSION >= 4
int MPI_Reduce_scatter_block_c(const void* sendbuf, void* recvbuf, MPI_Count recvcount,
                               MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
  const DropInCall call{sendbuf,
                        recvbuf,
                        recvcount,
                        datatype,
                        op,
                        comm,
                        __builtin_return_address(0),
                        ReductionKind::reduce_scatter};
  return NativeCalls::take(comm) ? call.by_mpi() : drop_in_reduction(call);
}
#endif

// Forms that are left to MPI, and counted, so that nobody wonders.

int MPI_Iallreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                   MPI_Comm comm, MPI_Request* request) {
  static const auto next = next_function("MPI_Iallreduce", &PMPI_Iallreduce);
  drop_in_other_form(OtherForm::nonblocking);
  return next(sendbuf, recvbuf, count, datatype, op, comm, request);
}

#if MPI_VERSION >= 4
int MPI_Allreduce_init(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype,
                       MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  static const auto next = next_function("MPI_Allreduce_init", &PMPI_Allreduce_init);
  drop_in_other_form(OtherForm::persistent);
  return next(sendbuf, recvbuf, count, datatype, op, comm, info, request);
}
#endif

int MPI_Comm_set_info(MPI_Comm comm, MPI_Info info) {
  static const auto next = next_function("MPI_Comm_set_info", &PMPI_Comm_set_info);
  const int status = next(comm, info);
  return status == MPI_SUCCESS ? drop_in_keys(comm, info) : status;
}

int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm) {
  static const auto next = next_function("MPI_Comm_dup_with_info", &PMPI_Comm_dup_with_info);
  const int status = next(comm, info, newcomm);
  return status == MPI_SUCCESS ? drop_in_keys(*newcomm, info) : status;
}

}  // extern "C"

#ifdef OMPI_MAJOR_VERSION

// Open MPI's functions for Fortran call PMPI_Allreduce, past the name above. (MPICH's call
// MPI_Allreduce.)

namespace {

/// `error`: null where a program that uses mpi_f08 leaves it out.
void fortran_reduction(ReductionKind collective, const void* sendbuf, void* recvbuf,
                       const MPI_Fint* count, const MPI_Fint* datatype, const MPI_Fint* op,
                       const MPI_Fint* comm, MPI_Fint* error, const void* site) {
  const int status =
      drop_in_reduction({c_buffer(sendbuf), c_buffer(recvbuf), *count, MPI_Type_f2c(*datatype),
                         MPI_Op_f2c(*op), MPI_Comm_f2c(*comm), site, collective});
  if (error != nullptr) *error = status;
}

}  // namespace

extern "C" {

// As compilers write the name, and as the module mpi_f08 does.
#define COHOM_FORTRAN_REDUCTION(name, kind)                                                      \
  void name(const void* sendbuf, void* recvbuf, const MPI_Fint* count, const MPI_Fint* datatype, \
            const MPI_Fint* op, const MPI_Fint* comm, MPI_Fint* error) {                         \
    fortran_reduction(ReductionKind::kind, sendbuf, recvbuf, count, datatype, op, comm, error,   \
                      __builtin_return_address(0));                                              \
  }
COHOM_FORTRAN_REDUCTION(mpi_allreduce, allreduce)
COHOM_FORTRAN_REDUCTION(mpi_allreduce_, allreduce)
COHOM_FORTRAN_REDUCTION(mpi_allreduce__, allreduce)
COHOM_FORTRAN_REDUCTION(MPI_ALLREDUCE, allreduce)
COHOM_FORTRAN_REDUCTION(mpi_allreduce_f08_, allreduce)
COHOM_FORTRAN_REDUCTION(mpi_reduce_scatter_block, reduce_scatter)
COHOM_FORTRAN_REDUCTION(mpi_reduce_scatter_block_, reduce_scatter)
COHOM_FORTRAN_REDUCTION(mpi_reduce_scatter_block__, reduce_scatter)
COHOM_FORTRAN_REDUCTION(MPI_REDUCE_SCATTER_BLOCK, reduce_scatter)
COHOM_FORTRAN_REDUCTION(mpi_reduce_scatter_block_f08_, reduce_scatter)
#undef COHOM_FORTRAN_REDUCTION

}  // extern "C"

#endif
