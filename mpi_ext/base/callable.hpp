#pragma once
// Who may call MPI, and what must be true of a user's communicator before anything else is asked of
// them.

#include <mpi.h>

#include <atomic>
#include <string>

namespace cohom::mpi {

/// @throws Error(invalid_argument) before MPI_Init and after MPI_Finalize.
void check_callable();

/// @throws Error(invalid_argument) when MPI cannot be called, or `comm` is MPI_COMM_NULL or an
/// intercommunicator: the errors that other ranks cannot be told of.
void check_usable(MPI_Comm comm);

/// @throws Error(unsupported) in a thread that may not call MPI: with less than
/// MPI_THREAD_SERIALIZED any but the one that initialized it. Between MPI_Init and MPI_Finalize.
void check_calling_thread();

/// Why two threads cannot call MPI at once; empty: they can. Between MPI_Init and MPI_Finalize.
std::string why_not_at_once();

/// For a scope that calls MPI. With less than MPI_THREAD_MULTIPLE two at once are an error, instead
/// of what MPI does then.
class MpiUse {
 public:
  /// @throws Error(unsupported)
  MpiUse();
  ~MpiUse() {
    if (counted_) in_use.store(false, std::memory_order_release);
  }
  MpiUse(const MpiUse&) = delete;
  MpiUse& operator=(const MpiUse&) = delete;

 private:
  static inline std::atomic<bool> in_use = false;
  bool counted_;
};

}  // namespace cohom::mpi
