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
#include <cohom/reductions.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

using namespace cohom;

/// What MPIX_Compressed_request points at.
struct MPIX_Compressed_request_s {
  explicit MPIX_Compressed_request_s(std::shared_ptr<mpi::CachedCommunicator> communicator)
      : home(std::move(communicator)) {}

  std::shared_ptr<mpi::CachedCommunicator> home;  // first: the call needs it to its end
  Request call;
};

namespace {

/// Arguments that all reductions have.
struct Arguments {
  const void* sendbuf;
  void* recvbuf;
  MPI_Count count;
  MPI_Datatype datatype;
  MPI_Op op;
  MPI_Comm comm;
  MPI_Info info;
};

/// What a rank sends, of an allgather; the others' arguments are what it receives of each.
struct Sent {
  MPI_Count count;
  MPI_Datatype datatype;
};

/// As MPI wants it: as much as is received of each. Of a rank in place it means nothing.
std::optional<Error> sent_error(const Sent& sent, const void* sendbuf, const mpi::CallShape& shape,
                                const mpi::InfoOptions& options) {
  if (sendbuf == MPI_IN_PLACE) return std::nullopt;
  const auto read = mpi::read_shape(sent.count, sent.datatype, MPI_SUM, options);
  if (const auto* error = std::get_if<Error>(&read))
    return Error(error->kind(), "sendcount and sendtype: " + std::string(error->what()));
  const auto& own = std::get<mpi::CallShape>(read);
  if (own.count == shape.count && own.type == shape.type) return std::nullopt;
  const auto text = [](const mpi::CallShape& each) {
    return std::to_string(each.count) + " elements of " + std::string(name_of(each.type));
  };
  return Error(ErrorKind::invalid_argument, "sendcount and sendtype are " + text(own) +
                                                "; they should be " + text(shape) +
                                                ", as recvcount and recvtype");
}

/// What keeps this rank from the call, or its shape.
std::variant<mpi::CallShape, Error> checked_call(const Arguments& given,
                                                 const mpi::InfoOptions& options,
                                                 const mpi::BufferRules& rules) {
  auto read = mpi::read_shape(given.count, given.datatype, given.op, options);
  if (std::holds_alternative<Error>(read)) return read;
  if (auto error = mpi::check_buffers(given.sendbuf, given.recvbuf, rules))
    return *std::move(error);
  return read;
}

/// What the C++ functions take.
struct Call {
  const void* input;
  void* output;
  mpi::CallShape shape;
  Communicator& communicator;
  const Options& options;
  const mpi::InfoOptions& info;
};

/// `rules` of the communicator; `start` gives the request of a call without errors.
template <class Rules, class Start>
Request start_reduction(const Arguments& given, const mpi::CallHome& home, Rules&& rules,
                        Start&& start) {
  Communicator& communicator = home.communicator->communicator;
  const mpi::BufferRules own = rules(communicator);
  const auto checked = checked_call(given, home.info, own);
  if (const auto* error = std::get_if<Error>(&checked)) return allreduce_fail(*error, communicator);
  const auto& shape = std::get<mpi::CallShape>(checked);
  return start(Call{mpi::input_of(given.sendbuf, given.recvbuf, own, shape),
                    own.output ? given.recvbuf : nullptr, shape, communicator, home.info.options,
                    home.info});
}

/// A blocking function: `run` makes a call without errors to its end.
template <class Rules, class Run>
int reduce_now(const Arguments& given, Rules&& rules, Run&& run) noexcept {
  return mpi::guarded(
      [&] {
        const mpi::CallHome home(given.comm, given.info);
        start_reduction(given, home, rules, [&](const Call& call) {
          run(call);
          return Request();
        }).wait();
      },
      [&] { return given.comm; });
}

template <class Rules, class Start>
int start_request(const Arguments& given, MPIX_Compressed_request* request, Rules&& rules,
                  Start&& start) noexcept {
  return mpi::guarded(
      [&] {
        const mpi::CallHome home(given.comm, given.info);
        if (request == nullptr)
          allreduce_fail(Error(ErrorKind::invalid_argument, "request is a null pointer"),
                         home.communicator->communicator)
              .wait();
        auto handle = std::make_unique<MPIX_Compressed_request_s>(home.communicator);
        handle->call = start_reduction(given, home, rules, start);
        *request = handle.release();
      },
      [&] { return given.comm; });
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
  return reduce_now({sendbuf, recvbuf, count, datatype, op, comm, info}, mpi::rules_on_all_ranks,
                    [](const Call& call) {
                      allreduce(call.input, call.output, call.shape.count, call.shape.type,
                                call.communicator, call.options);
                    });
}

int MPIX_Iallreduce_compressed(const void* sendbuf, void* recvbuf, MPI_Count count,
                               MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
                               MPIX_Compressed_request* request) {
  return start_request({sendbuf, recvbuf, count, datatype, op, comm, info}, request,
                       mpi::rules_on_all_ranks, [](const Call& call) {
                         return allreduce_start(call.input, call.output, call.shape.count,
                                                call.shape.type, call.communicator, call.options);
                       });
}

int MPIX_Reduce_scatter_block_compressed(const void* sendbuf, void* recvbuf, MPI_Count recvcount,
                                         MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                                         MPI_Info info) {
  return reduce_now({sendbuf, recvbuf, recvcount, datatype, op, comm, info},
                    mpi::rules_on_all_ranks, [](const Call& call) {
                      reduce_scatter(call.input, call.output, call.shape.count, call.shape.type,
                                     call.communicator, call.options);
                    });
}

int MPIX_Ireduce_scatter_block_compressed(const void* sendbuf, void* recvbuf, MPI_Count recvcount,
                                          MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                                          MPI_Info info, MPIX_Compressed_request* request) {
  return start_request({sendbuf, recvbuf, recvcount, datatype, op, comm, info}, request,
                       mpi::rules_on_all_ranks, [](const Call& call) {
                         return reduce_scatter_start(call.input, call.output, call.shape.count,
                                                     call.shape.type, call.communicator,
                                                     call.options);
                       });
}

int MPIX_Reduce_compressed(const void* sendbuf, void* recvbuf, MPI_Count count,
                           MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm,
                           MPI_Info info) {
  return reduce_now({sendbuf, recvbuf, count, datatype, op, comm, info}, mpi::rules_on_root(root),
                    [root](const Call& call) {
                      reduce(call.input, call.output, call.shape.count, call.shape.type, root,
                             call.communicator, call.options);
                    });
}

int MPIX_Ireduce_compressed(const void* sendbuf, void* recvbuf, MPI_Count count,
                            MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm,
                            MPI_Info info, MPIX_Compressed_request* request) {
  return start_request({sendbuf, recvbuf, count, datatype, op, comm, info}, request,
                       mpi::rules_on_root(root), [root](const Call& call) {
                         return reduce_start(call.input, call.output, call.shape.count,
                                             call.shape.type, root, call.communicator,
                                             call.options);
                       });
}

int MPIX_Allgather_compressed(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                              void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                              MPI_Comm comm, MPI_Info info) {
  return reduce_now({sendbuf, recvbuf, recvcount, recvtype, MPI_SUM, comm, info},
                    mpi::rules_of_parts, [&](const Call& call) {
                      const Sent sent{sendcount, sendtype};
                      if (auto error = sent_error(sent, sendbuf, call.shape, call.info))
                        return allreduce_fail(*error, call.communicator).wait();
                      allgather(call.input, call.output, call.shape.count, call.shape.type,
                                call.communicator, call.options);
                    });
}

int MPIX_Iallgather_compressed(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                               void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                               MPI_Comm comm, MPI_Info info, MPIX_Compressed_request* request) {
  return start_request({sendbuf, recvbuf, recvcount, recvtype, MPI_SUM, comm, info}, request,
                       mpi::rules_of_parts, [&](const Call& call) {
                         const Sent sent{sendcount, sendtype};
                         if (auto error = sent_error(sent, sendbuf, call.shape, call.info))
                           return allreduce_fail(*error, call.communicator);
                         return allgather_start(call.input, call.output, call.shape.count,
                                                call.shape.type, call.communicator, call.options);
                       });
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
