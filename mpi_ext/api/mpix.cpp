// The C API: calls and their requests. An argument that is wrong on one rank becomes the same error
// on all of them, so nothing may return before the rank took part in the call; except what cannot
// be told to others, because there is no communicator to tell it on.

#include <cohom/mpix.h>

#include "mpi_ext/api/mpi_communicator.hpp"
#include "mpi_ext/api/mpi_errors.hpp"
#include "mpi_ext/api/mpi_handles.hpp"
#include "mpi_ext/api/mpix_arguments.hpp"
#include "mpi_ext/base/callable.hpp"

#include <cohom/allreduce.hpp>

#include <memory>
#include <utility>

using namespace cohom;

/// What MPIX_Compressed_request points at.
struct MPIX_Compressed_request_s {
  explicit MPIX_Compressed_request_s(std::shared_ptr<mpi::CachedCommunicator> communicator)
      : home(std::move(communicator)) {}

  std::shared_ptr<mpi::CachedCommunicator> home;  // first: the call needs it to its end
  Request call;
};

namespace {

/// What keeps this rank from the call, or its shape.
std::variant<mpi::CallShape, Error> checked_call(const void* recvbuf, MPI_Count count,
                                                 MPI_Datatype datatype, MPI_Op op,
                                                 const mpi::InfoOptions& given) {
  auto read = mpi::read_shape(count, datatype, op, given);
  if (std::holds_alternative<Error>(read)) return read;
  if (auto error = mpi::check_recvbuf(recvbuf)) return *std::move(error);
  return read;
}

/// MPI frees a request whether its call went well or not.
std::unique_ptr<MPIX_Compressed_request_s> take(MPIX_Compressed_request& request) {
  return std::unique_ptr<MPIX_Compressed_request_s>(std::exchange(request, nullptr));
}

}  // namespace

extern "C" {

MPI_Datatype MPIX_Float16(void) { return mpi::half_datatype(ElementType::f16); }

MPI_Datatype MPIX_Bfloat16(void) { return mpi::half_datatype(ElementType::bf16); }

int MPIX_Program_comm(MPI_Comm* comm) {
  return mpi::guarded(
      [&] {
        mpi::require(comm, "comm");
        *comm = mpi::program_ranks();
      },
      [] { return MPI_COMM_NULL; });
}

int MPIX_Allreduce_compressed(const void* sendbuf, void* recvbuf, MPI_Count count,
                              MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info) {
  return mpi::guarded(
      [&] {
        const mpi::CallHome home(comm, info);
        Communicator& communicator = home.communicator->communicator;
        const auto checked = checked_call(recvbuf, count, datatype, op, home.info);
        if (const auto* error = std::get_if<Error>(&checked))
          return allreduce_fail(*error, communicator).wait();
        const auto& shape = std::get<mpi::CallShape>(checked);
        allreduce(mpi::input_of(sendbuf, recvbuf), recvbuf, shape.count, shape.type, communicator,
                  home.info.options);
      },
      [&] { return comm; });
}

int MPIX_Iallreduce_compressed(const void* sendbuf, void* recvbuf, MPI_Count count,
                               MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
                               MPIX_Compressed_request* request) {
  return mpi::guarded(
      [&] {
        const mpi::CallHome home(comm, info);
        Communicator& communicator = home.communicator->communicator;
        if (request == nullptr)
          allreduce_fail(Error(ErrorKind::invalid_argument, "request is a null pointer"),
                         communicator)
              .wait();
        auto handle = std::make_unique<MPIX_Compressed_request_s>(home.communicator);
        const auto checked = checked_call(recvbuf, count, datatype, op, home.info);
        if (const auto* error = std::get_if<Error>(&checked)) {
          handle->call = allreduce_fail(*error, communicator);
        } else {
          const auto& shape = std::get<mpi::CallShape>(checked);
          handle->call = allreduce_start(mpi::input_of(sendbuf, recvbuf), recvbuf, shape.count,
                                         shape.type, communicator, home.info.options);
        }
        *request = handle.release();
      },
      [&] { return comm; });
}

int MPIX_Compressed_test(MPIX_Compressed_request* request, int* flag) {
  MPI_Comm comm = MPI_COMM_NULL;
  return mpi::guarded(
      [&] {
        mpi::require(request, "request");
        mpi::require(flag, "flag");
        *flag = 1;
        if (*request == MPIX_COMPRESSED_REQUEST_NULL) return;
        mpi::check_callable();
        comm = (*request)->home->user;
        try {
          *flag = (*request)->call.test() ? 1 : 0;
        } catch (...) {
          take(*request);
          throw;
        }
        if (*flag != 0) take(*request);
      },
      [&] { return comm; });
}

int MPIX_Compressed_wait(MPIX_Compressed_request* request) {
  MPI_Comm comm = MPI_COMM_NULL;
  return mpi::guarded(
      [&] {
        mpi::require(request, "request");
        if (*request == MPIX_COMPRESSED_REQUEST_NULL) return;
        mpi::check_callable();
        const auto handle = take(*request);
        comm = handle->home->user;
        handle->call.wait();
      },
      [&] { return comm; });
}

}  // extern "C"
