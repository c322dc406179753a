#pragma once
// Where the time of calls goes, measured on all ranks.

#include <cohom/communicator.hpp>
#include <cohom/profile.hpp>

#include <mpi.h>

#include <array>
#include <functional>

namespace cohom::bench {

/// Means over calls and ranks.
struct ProfileMeans {
  std::array<double, phases> seconds = {};  ///< by Phase, of a clock on the wall
  double processor_seconds = 0;             ///< that the rank was on a core
};

/// Adds up where the time of calls goes on this rank.
class ProfileMeter {
 public:
  /// Runs a call, and adds where its time went.
  void run(Communicator& communicator, const std::function<void()>& call);
  /// Forgets the calls so far.
  void reset() { *this = {}; }
  /// Of the calls since reset(), of which there is one at least. Collective.
  [[nodiscard]] ProfileMeans means(MPI_Comm comm) const;

 private:
  Profile profile_;
  double processor_seconds_ = 0;
  int calls_ = 0;
};

}  // namespace cohom::bench
