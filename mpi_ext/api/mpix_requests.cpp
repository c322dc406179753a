// The C API: several requests at once. Each error goes to its communicator's error handler, and the
// first one is returned.

#include <cohom/mpix.h>

#include "mpi_ext/api/mpi_errors.hpp"
#include "mpi_ext/api/mpix_arguments.hpp"

#include <span>
#include <string>
#include <thread>

using namespace cohom;

namespace {

using Requests = std::span<MPIX_Compressed_request>;

/// @throws Error(invalid_argument)
Requests requests_of(int count, MPIX_Compressed_request requests[]) {
  if (count < 0)
    throw Error(ErrorKind::invalid_argument,
                "count is " + std::to_string(count) + "; it must not be negative");
  if (count > 0) mpi::require(requests, "requests");
  return {requests, static_cast<std::size_t>(count)};
}

/// Runs `function` on the requests; it returns an error that was raised, or MPI_SUCCESS.
template <class Function>
int with_requests(int count, MPIX_Compressed_request requests[], Function&& function) noexcept {
  int raised = MPI_SUCCESS;
  const int own = mpi::guarded([&] { raised = function(requests_of(count, requests)); },
                               [] { return MPI_COMM_NULL; });
  return own != MPI_SUCCESS ? own : raised;
}

void keep_first(int& first, int code) {
  if (first == MPI_SUCCESS) first = code;
}

/// What one look at all requests found.
struct Completed {
  int index = MPI_UNDEFINED;  ///< of one that is complete now
  int code = MPI_SUCCESS;
  bool all_null = true;
};

Completed test_any(Requests requests) {
  Completed found;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (requests[i] == MPIX_COMPRESSED_REQUEST_NULL) continue;
    found.all_null = false;
    int flag = 0;
    found.code = MPIX_Compressed_test(&requests[i], &flag);
    if (flag == 0) continue;
    found.index = static_cast<int>(i);
    break;
  }
  return found;
}

}  // namespace

extern "C" {

int MPIX_Compressed_waitall(int count, MPIX_Compressed_request requests[]) {
  return with_requests(count, requests, [](Requests all) {
    int first = MPI_SUCCESS;
    for (MPIX_Compressed_request& request : all) keep_first(first, MPIX_Compressed_wait(&request));
    return first;
  });
}

int MPIX_Compressed_testall(int count, MPIX_Compressed_request requests[], int* flag) {
  return with_requests(count, requests, [&](Requests all) {
    mpi::require(flag, "flag");
    int first = MPI_SUCCESS;
    bool complete = true;
    for (MPIX_Compressed_request& request : all) {
      int done = 0;
      keep_first(first, MPIX_Compressed_test(&request, &done));
      complete = complete && done != 0;
    }
    *flag = complete ? 1 : 0;
    return first;
  });
}

int MPIX_Compressed_testany(int count, MPIX_Compressed_request requests[], int* index, int* flag) {
  return with_requests(count, requests, [&](Requests all) {
    mpi::require(index, "index");
    mpi::require(flag, "flag");
    const Completed found = test_any(all);
    *index = found.index;
    *flag = found.all_null || found.index != MPI_UNDEFINED ? 1 : 0;
    return found.code;
  });
}

int MPIX_Compressed_waitany(int count, MPIX_Compressed_request requests[], int* index) {
  return with_requests(count, requests, [&](Requests all) {
    mpi::require(index, "index");
    Completed found = test_any(all);
    while (!found.all_null && found.index == MPI_UNDEFINED) {
      std::this_thread::yield();
      found = test_any(all);
    }
    *index = found.index;
    return found.code;
  });
}

}  // extern "C"
