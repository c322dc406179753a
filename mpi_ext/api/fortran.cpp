// What the module cohom of Fortran calls (mpi_ext/fortran/cohom.F90): the C API with Fortran's
// handles. `error` is null where the program leaves it out.

#include <cohom/mpix.h>

#include "mpi_ext/base/fortran_buffer.hpp"

#include <mpi.h>

using cohom::mpi::c_buffer;

namespace {

void tell(MPI_Fint* error, int status) {
  if (error != nullptr) *error = status;
}

}  // namespace

extern "C" {

void cohom_fortran_allreduce(const void* sendbuf, void* recvbuf, MPI_Fint count, MPI_Fint datatype,
                             MPI_Fint op, MPI_Fint comm, MPI_Fint info, MPI_Fint* error) {
  tell(error, MPIX_Allreduce_compressed(c_buffer(sendbuf), c_buffer(recvbuf), count,
                                        MPI_Type_f2c(datatype), MPI_Op_f2c(op), MPI_Comm_f2c(comm),
                                        MPI_Info_f2c(info)));
}

void cohom_fortran_reduce_scatter_block(const void* sendbuf, void* recvbuf, MPI_Fint recvcount,
                                        MPI_Fint datatype, MPI_Fint op, MPI_Fint comm,
                                        MPI_Fint info, MPI_Fint* error) {
  tell(error, MPIX_Reduce_scatter_block_compressed(c_buffer(sendbuf), c_buffer(recvbuf), recvcount,
                                                   MPI_Type_f2c(datatype), MPI_Op_f2c(op),
                                                   MPI_Comm_f2c(comm), MPI_Info_f2c(info)));
}

void cohom_fortran_reduce(const void* sendbuf, void* recvbuf, MPI_Fint count, MPI_Fint datatype,
                          MPI_Fint op, MPI_Fint root, MPI_Fint comm, MPI_Fint info,
                          MPI_Fint* error) {
  tell(error,
       MPIX_Reduce_compressed(c_buffer(sendbuf), c_buffer(recvbuf), count, MPI_Type_f2c(datatype),
                              MPI_Op_f2c(op), root, MPI_Comm_f2c(comm), MPI_Info_f2c(info)));
}

void cohom_fortran_allgather(const void* sendbuf, MPI_Fint sendcount, MPI_Fint sendtype,
                             void* recvbuf, MPI_Fint recvcount, MPI_Fint recvtype, MPI_Fint comm,
                             MPI_Fint info, MPI_Fint* error) {
  tell(error, MPIX_Allgather_compressed(c_buffer(sendbuf), sendcount, MPI_Type_f2c(sendtype),
                                        c_buffer(recvbuf), recvcount, MPI_Type_f2c(recvtype),
                                        MPI_Comm_f2c(comm), MPI_Info_f2c(info)));
}

void cohom_fortran_allgather_plan_create(MPI_Fint count, MPI_Fint datatype, MPI_Fint comm,
                                         MPI_Fint info, MPIX_Compressed_plan* plan,
                                         MPI_Fint* error) {
  tell(error, MPIX_Compressed_allgather_plan_create(count, MPI_Type_f2c(datatype),
                                                    MPI_Comm_f2c(comm), MPI_Info_f2c(info), plan));
}

void cohom_fortran_plan_create(MPI_Fint count, MPI_Fint datatype, MPI_Fint op, MPI_Fint comm,
                               MPI_Fint info, MPIX_Compressed_plan* plan, MPI_Fint* error) {
  tell(error, MPIX_Compressed_plan_create(count, MPI_Type_f2c(datatype), MPI_Op_f2c(op),
                                          MPI_Comm_f2c(comm), MPI_Info_f2c(info), plan));
}

void cohom_fortran_reduce_scatter_block_plan_create(MPI_Fint recvcount, MPI_Fint datatype,
                                                    MPI_Fint op, MPI_Fint comm, MPI_Fint info,
                                                    MPIX_Compressed_plan* plan, MPI_Fint* error) {
  tell(error, MPIX_Compressed_reduce_scatter_block_plan_create(recvcount, MPI_Type_f2c(datatype),
                                                               MPI_Op_f2c(op), MPI_Comm_f2c(comm),
                                                               MPI_Info_f2c(info), plan));
}

void cohom_fortran_reduce_plan_create(MPI_Fint count, MPI_Fint datatype, MPI_Fint op, MPI_Fint root,
                                      MPI_Fint comm, MPI_Fint info, MPIX_Compressed_plan* plan,
                                      MPI_Fint* error) {
  tell(error,
       MPIX_Compressed_reduce_plan_create(count, MPI_Type_f2c(datatype), MPI_Op_f2c(op), root,
                                          MPI_Comm_f2c(comm), MPI_Info_f2c(info), plan));
}

void cohom_fortran_plan_execute(const MPIX_Compressed_plan* plan, const void* sendbuf,
                                void* recvbuf, MPI_Fint* error) {
  tell(error, MPIX_Compressed_plan_execute(*plan, c_buffer(sendbuf), c_buffer(recvbuf)));
}

void cohom_fortran_plan_start(const MPIX_Compressed_plan* plan, const void* sendbuf, void* recvbuf,
                              MPI_Fint* error) {
  tell(error, MPIX_Compressed_plan_start(*plan, c_buffer(sendbuf), c_buffer(recvbuf)));
}

void cohom_fortran_plan_wait(const MPIX_Compressed_plan* plan, MPI_Fint* error) {
  tell(error, MPIX_Compressed_plan_wait(*plan));
}

void cohom_fortran_plan_reset_state(const MPIX_Compressed_plan* plan, MPI_Fint* error) {
  tell(error, MPIX_Compressed_plan_reset_state(*plan));
}

void cohom_fortran_plan_free(MPIX_Compressed_plan* plan, MPI_Fint* error) {
  tell(error, MPIX_Compressed_plan_free(plan));
}

}  // extern "C"
