#include "profile_means.hpp"

#include <ctime>

namespace cohom::bench {
namespace {

double processor_seconds_so_far() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

void ProfileMeter::run(Communicator& communicator, const std::function<void()>& call) {
  communicator.set_profile(&profile_);
  const double begin = processor_seconds_so_far();
  call();
  processor_seconds_ += processor_seconds_so_far() - begin;
  communicator.set_profile(nullptr);
  ++calls_;
}

ProfileMeans ProfileMeter::means(MPI_Comm comm) const {
  int ranks = 1;
  MPI_Comm_size(comm, &ranks);
  std::array<double, phases + 1> sums{};
  for (std::size_t p = 0; p < phases; ++p) sums[p] = profile_.seconds(static_cast<Phase>(p));
  sums[phases] = processor_seconds_;
  MPI_Allreduce(MPI_IN_PLACE, sums.data(), static_cast<int>(sums.size()), MPI_DOUBLE, MPI_SUM,
                comm);
  const double samples = static_cast<double>(calls_) * ranks;
  ProfileMeans means;
  for (std::size_t p = 0; p < phases; ++p) means.seconds[p] = sums[p] / samples;
  means.processor_seconds = sums[phases] / samples;
  return means;
}

}  // namespace cohom::bench
