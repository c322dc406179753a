// A program in a job that may have an aggregator: job_program RANKS [aggregator|unstarted|failed].
// Checks that its ranks are its own, and that calls on them and on a duplicate go to the aggregator
// without being told of one; or do without it where it could not start or serves no longer.

#include <cohom/mpix.h>
#include <cohom/allreduce.hpp>
#include <cohom/error.hpp>
#include <cohom/mpi.hpp>

#include <mpi.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t count = 40000;

void expect(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "job_program: not so: %s\n", what.c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int size_of(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size;
}

void sum(cohom::Communicator& ranks, const char* codec, const char* algorithm) {
  std::vector<float> data(count, 1.0f);
  cohom::allreduce(std::span(data), ranks, {.codec = codec, .algorithm = algorithm});
  for (const float x : data) expect(std::abs(x - float(ranks.ranks())) < 0.5f, "sums are right");
}

/// On a busy machine the aggregator may answer late; until then calls go from rank to rank.
/// Counters are equal on all ranks, so that all make the same calls.
void expect_offloaded(MPI_Comm comm) {
  constexpr std::uint64_t max_declined = 400;
  cohom::Communicator ranks = cohom::mpi::communicator(comm);
  while (true) {
    sum(ranks, "raw", "offload");
    const cohom::OffloadCounters first = ranks.offload_counters();
    if (first.offloaded == 1) break;
    expect(first.declined < max_declined, "the aggregator answers");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  sum(ranks, "thc:levels=full", "auto");
  const cohom::OffloadCounters counters = ranks.offload_counters();
  expect(counters.offloaded == 2 && counters.repeated == 0,
         "two calls were offloaded, not " + std::to_string(counters.offloaded));
}

void expect_none_serves(MPI_Comm comm) {
  cohom::Communicator ranks = cohom::mpi::communicator(comm);
  for (int i = 0; i < 3; ++i) sum(ranks, "raw", "offload");
  expect(ranks.offload_counters().offloaded == 0, "no aggregator serves");
}

void expect_not_offloaded(MPI_Comm comm) {
  cohom::Communicator ranks = cohom::mpi::communicator(comm);
  sum(ranks, "raw", "auto");
  expect(ranks.offload_counters().offloaded == 0, "nothing was offloaded");
  bool refused = false;
  try {
    sum(ranks, "raw", "offload");
  } catch (const cohom::Error& error) {
    refused = std::string_view(error.what()).find("needs an aggregator") != std::string_view::npos;
  }
  expect(refused, "offload needs an aggregator");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int expected = std::atoi(argv[1]);
  const std::string_view aggregator = argc > 2 ? argv[2] : "";
  MPI_Comm program = MPI_COMM_NULL, duplicate = MPI_COMM_NULL, part = MPI_COMM_NULL;
  // mpirun does not always show what MPI's own handler says of an error before it ends the job.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (const int code = MPIX_Program_comm(&program); code != MPI_SUCCESS) {
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(code, text, &length);
    std::fprintf(stderr, "job_program: %s\n", text);
    return 1;
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  expect(program == cohom::mpi::program_ranks(), "C and C++ have the same communicator");
  expect(size_of(program) == expected, "the program has its ranks");
  expect(size_of(MPI_COMM_WORLD) == expected + (aggregator.empty() ? 0 : 1), "the world has all");
  MPI_Comm_dup(program, &duplicate);
  MPI_Comm_split(program, 0, 0, &part);
  if (aggregator == "aggregator") {
    expect_offloaded(program);
    expect_offloaded(duplicate);
  } else if (aggregator == "failed") {
    expect_none_serves(program);
  } else {
    expect_not_offloaded(program);
  }
  expect_not_offloaded(part);
  MPI_Comm_free(&duplicate);
  MPI_Comm_free(&part);
  MPI_Finalize();
  return 0;
}
