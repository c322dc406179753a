#pragma once
// SharedFailure: an error that one rank met by itself, made known to all.

#include <mpi.h>

#include <functional>
#include <stdexcept>

namespace cohom::bench {

/// Thrown on all ranks alike, with the words of the lowest rank that failed.
class SharedFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Runs `local_work`, which must not communicate, and waits until all ranks have. Collective.
/// @throws SharedFailure when it threw any std::exception on any rank
void run_on_all_ranks(MPI_Comm comm, const std::function<void()>& local_work);

}  // namespace cohom::bench
