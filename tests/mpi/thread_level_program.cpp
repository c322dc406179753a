// What the library says to threads that MPI does not allow. Argument: the level to ask MPI for,
// "funneled" or "serialized". Exits with 0 when the errors are the right ones.

#include "mpi_ext/thread_level.hpp"

#include <cohom/allreduce.hpp>
#include <cohom/mpi.hpp>

#include <mpi.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace {

std::string error_of_call(cohom::Communicator& communicator) {
  float one = 1;
  try {
    cohom::allreduce(&one, &one, 1, cohom::ElementType::f32, communicator,
                     {.codec = "raw", .algorithm = "ring"});
  } catch (const cohom::Error& error) {
    return error.what();
  }
  return {};
}

bool has(const std::string& text, const char* words) {
  if (text.find(words) != std::string::npos) return true;
  std::fprintf(stderr, "no \"%s\" in \"%s\"\n", words, text.c_str());
  return false;
}

/// Another thread than the one that initialized MPI.
bool funneled() {
  auto communicator = cohom::mpi::communicator(MPI_COMM_WORLD);
  std::string of_call, of_communicator;
  std::thread([&] {
    of_call = error_of_call(communicator);
    try {
      cohom::mpi::communicator(MPI_COMM_WORLD);
    } catch (const cohom::Error& error) {
      of_communicator = error.what();
    }
  }).join();
  const bool here = error_of_call(communicator).empty();
  return has(of_call, "only the thread that initialized it may call") &&
         has(of_communicator, "MPI_THREAD_FUNNELED") && here;
}

/// Two threads, one at a time, are allowed.
bool serialized() {
  auto first = cohom::mpi::communicator(MPI_COMM_WORLD);
  auto second = cohom::mpi::communicator(MPI_COMM_SELF);
  std::string error;
  std::thread([&] { error = error_of_call(first); }).join();
  if (!error.empty()) std::fprintf(stderr, "one at a time: %s\n", error.c_str());
  return error.empty() && error_of_call(second).empty();
}

/// One thread is in MPI on every rank while another one calls.
bool at_once() {
  auto communicator = cohom::mpi::communicator(MPI_COMM_WORLD);
  std::string error;
  {
    const cohom::mpi::MpiUse in_mpi;
    std::thread([&] { error = error_of_call(communicator); }).join();
  }
  auto another = cohom::mpi::communicator(MPI_COMM_WORLD);
  return has(error, "two threads call at once, and MPI gives MPI_THREAD_SERIALIZED") &&
         error_of_call(another).empty();
}

}  // namespace

int main(int argc, char** argv) {
  const bool funnel = argc > 1 && std::string(argv[1]) == "funneled";
  const int wanted = funnel ? MPI_THREAD_FUNNELED : MPI_THREAD_SERIALIZED;
  int provided = 0;
  MPI_Init_thread(&argc, &argv, wanted, &provided);
  bool right = true;
  if (provided != wanted)
    std::printf("MPI gives another level (%d); nothing to see\n", provided);
  else
    right = funnel ? funneled() : serialized() && at_once();
  MPI_Finalize();
  return right ? 0 : 1;
}
