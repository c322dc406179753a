// The C API: sums to which a rank contributes any number of vectors. All functions are local but
// the allreduce, where an argument that is wrong on one rank is told to the others.

#include <cohom/mpix.h>

#include "mpi_ext/api/mpi_communicator.hpp"
#include "mpi_ext/api/mpi_errors.hpp"
#include "mpi_ext/api/mpi_handles.hpp"
#include "mpi_ext/api/mpix_arguments.hpp"
#include "mpi_ext/base/callable.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/exact_sum.hpp>

#include <memory>
#include <optional>
#include <utility>

using namespace cohom;

/// What MPIX_Compressed_exact points at.
struct MPIX_Compressed_exact_s {
  ExactSum sum;
};

namespace {

/// Of functions that know no communicator.
MPI_Comm no_comm() { return MPI_COMM_NULL; }

Request start(const MPIX_Compressed_exact_s* exact, void* recvbuf, MPI_Op op,
              const mpi::InfoOptions& given, Communicator& communicator) {
  std::optional<Error> error = mpi::check_op_and_options(op, given);
  if (!error) error = mpi::check_buffers(nullptr, recvbuf);
  if (!error && exact == nullptr)
    error = Error(ErrorKind::invalid_argument,
                  "exact is a null pointer; give one from MPIX_Compressed_exact_create");
  if (error) return allreduce_fail(*error, communicator);
  return exact->sum.allreduce_start(recvbuf, communicator, given.options);
}

}  // namespace

extern "C" {

int MPIX_Compressed_exact_create(MPI_Count count, MPI_Datatype datatype,
                                 MPIX_Compressed_exact* exact) {
  return mpi::guarded(
      [&] {
        mpi::require(exact, "exact");
        mpi::check_callable();
        const mpi::CallShape shape = mpi::checked_shape(count, datatype);
        ExactSum sum(shape.count, shape.type);
        *exact = std::make_unique<MPIX_Compressed_exact_s>(std::move(sum)).release();
      },
      no_comm);
}

int MPIX_Compressed_exact_add(MPIX_Compressed_exact exact, const void* buf) {
  return mpi::guarded(
      [&] {
        mpi::require(exact, "exact");
        if (buf == MPI_IN_PLACE)
          throw Error(ErrorKind::invalid_argument, "buf is MPI_IN_PLACE; give the vector to add");
        exact->sum.add(buf);
      },
      no_comm);
}

int MPIX_Compressed_exact_allreduce(MPIX_Compressed_exact exact, void* recvbuf, MPI_Op op,
                                    MPI_Comm comm, MPI_Info info) {
  return mpi::guarded(
      [&] {
        const mpi::CallHome home(comm, info);
        start(exact, recvbuf, op, home.info, home.communicator->communicator).wait();
      },
      [&] { return comm; });
}

int MPIX_Compressed_exact_reset(MPIX_Compressed_exact exact) {
  return mpi::guarded(
      [&] {
        mpi::require(exact, "exact");
        exact->sum.reset();
      },
      no_comm);
}

int MPIX_Compressed_exact_free(MPIX_Compressed_exact* exact) {
  return mpi::guarded(
      [&] {
        mpi::require(exact, "exact");
        std::unique_ptr<MPIX_Compressed_exact_s>(std::exchange(*exact, nullptr)).reset();
      },
      no_comm);
}

}  // extern "C"
