#pragma once
// Job: several programs that mpirun started as one, and how they meet: an aggregator among them
// tells the others where it is, and they tell it when they are done.

#include "mpi_ext/base/owned_comm.hpp"

#include <mpi.h>

#include <string>

namespace cohom::mpi {

/// What ranks must know of an aggregator. Empty: there is none.
struct AggregatorOffer {
  std::string address;  ///< HOST:PORT
  std::string token;
};

class Job {
 public:
  /// Collective over MPI_COMM_WORLD: all programs join once. `own` is what this process offers.
  /// @throws Error on all ranks alike, invalid_argument for more than one aggregator.
  explicit Job(const AggregatorOffer& own);

  /// The ranks of this rank's own program.
  [[nodiscard]] MPI_Comm program() const { return program_.get(); }
  /// What the job's aggregator offers.
  [[nodiscard]] const AggregatorOffer& offer() const { return offer_; }

  /// This rank is done with the aggregator: blocks until all ranks of all programs are. Collective
  /// over the job, as is the next.
  void leave();
  /// Begins the same without blocking; whether it is over is for left() to say.
  void start_leaving();
  [[nodiscard]] bool left();

 private:
  OwnedComm job_, program_;
  AggregatorOffer offer_;
  MPI_Request leaving_ = MPI_REQUEST_NULL;
};

/// The job of this process, which its first use joins without an offer.
Job& job_of_process();

/// What the job's aggregator offers to calls on `comm`, which is program_ranks() or a duplicate of
/// it; null for any other communicator. Local.
const AggregatorOffer* offer_to(MPI_Comm comm);

}  // namespace cohom::mpi
