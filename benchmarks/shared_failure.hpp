#pragma once
// SharedFailure: an error that one rank met by itself, made known to all, and how a program of the
// benchmarks ends with an error.

#include <mpi.h>

#include <functional>
#include <stdexcept>
#include <string_view>

namespace cohom::bench {

/// Thrown on all ranks alike, with the words of the lowest rank that failed.
class SharedFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Runs `local_work`, which must not communicate, and waits until all ranks have. Collective.
/// @throws SharedFailure when it threw any std::exception on any rank
void run_on_all_ranks(MPI_Comm comm, const std::function<void()>& local_work);

/// Exit status of a program whose command line, input or combination cannot be run.
inline constexpr int cannot_run = 2;

/// Returns what `work` does, the program's exit status. A SharedFailure or an Error, which all ranks
/// have, becomes one message from rank 0 and `cannot_run`; any other exception ends the job.
int run_reporting_failures(std::string_view program, const std::function<int()>& work);

}  // namespace cohom::bench
