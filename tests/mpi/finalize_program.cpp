// Rank 0 goes into MPI_Finalize with requests in flight. It warns and finishes them, so nobody
// waits for ever, and its sums are right. Exits with 0 when all that is true on this rank.

#include <cohom/mpix.h>
#include <cohom/allreduce.hpp>
#include <cohom/mpi.hpp>

#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace {

constexpr int count = 200000;

bool all_are(const std::vector<float>& data, float right) {
  for (const float value : data)
    if (value != right) return false;
  return true;
}

std::string text_of(std::FILE* file) {
  std::string text(4096, '\0');
  std::rewind(file);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  return text;
}

}  // namespace

int main() {
  MPI_Init(nullptr, nullptr);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  // MPI alone says which rank this is.
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) unsetenv(variable);
  std::FILE* const errors = std::tmpfile();
  const int own_stderr = dup(STDERR_FILENO);
  dup2(fileno(errors), STDERR_FILENO);

  std::vector<float> first(count, 1.0f), second(count, 2.0f), third(count, 3.0f);
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "cohom_codec", "raw");
  MPI_Info_set(info, "cohom_algorithm", "ring");
  MPIX_Compressed_request requests[2] = {};
  std::vector<float>* const data[2] = {&first, &second};
  for (int r = 0; r < 2; ++r)
    MPIX_Iallreduce_compressed(MPI_IN_PLACE, data[r]->data(), count, MPI_FLOAT, MPI_SUM,
                               MPI_COMM_WORLD, info, &requests[r]);
  // Neither this communicator nor its request is destroyed before MPI_Finalize on rank 0.
  auto communicator =
      std::make_unique<cohom::Communicator>(cohom::mpi::communicator(MPI_COMM_WORLD));
  auto request = std::make_unique<cohom::Request>(
      cohom::allreduce_start(third.data(), third.data(), count, cohom::ElementType::f32,
                             *communicator, {.codec = "raw", .algorithm = "ring"}));
  if (rank != 0) {
    for (auto& one : requests) MPIX_Compressed_wait(&one);
    request->wait();
    request.reset();
    communicator.reset();
  }
  MPI_Info_free(&info);
  MPI_Finalize();

  const std::string said = text_of(errors);
  dup2(own_stderr, STDERR_FILENO);
  std::fputs(said.c_str(), stderr);
  const float n = static_cast<float>(ranks);
  const bool right = all_are(first, n) && all_are(second, 2 * n) && all_are(third, 3 * n);
  const bool warned = said.find("[cohom warning, rank 0] MPI_Finalize with ") != std::string::npos;
  const bool as_expected = right && warned == (rank == 0);
  if (!as_expected) std::fprintf(stderr, "rank %d: right %d, warned %d\n", rank, right, warned);
  return as_expected ? 0 : 1;
}
