// The codec alone, over MPI's own calls: this program links cohom's core, which knows no MPI.
// mpicxx -std=c++20 rounds.cpp $(pkg-config --cflags --libs cohom) && mpirun -n 4 ./a.out
#include <cohom/rounds.hpp>

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>
#include <vector>

using cohom::Collective;
using cohom::MergeKind;
using cohom::RoundStep;
using cohom::StepNumbers;

MPI_Datatype type_of(StepNumbers type) {
  switch (type) {
    case StepNumbers::u8: return MPI_UINT8_T;
    case StepNumbers::u16: return MPI_UINT16_T;
    case StepNumbers::u32: return MPI_UINT32_T;
    default: return MPI_UINT64_T;
  }
}

MPI_Op operation_of(MergeKind kind) {
  return kind == MergeKind::add ? MPI_SUM : kind == MergeKind::max ? MPI_MAX : MPI_BOR;
}

struct Counts {  // as MPI wants them
  explicit Counts(std::span<const std::size_t> parts)
      : counts(parts.begin(), parts.end()), begins(parts.size()) {
    std::exclusive_scan(counts.begin(), counts.end(), begins.begin(), 0);
  }
  std::vector<int> counts, begins;
};

void make(const RoundStep& step) {
  if (step.kind == Collective::all_reduce) {
    MPI_Allreduce(MPI_IN_PLACE, step.words.data(), int(step.numbers), type_of(step.type),
                  operation_of(step.operation), MPI_COMM_WORLD);
    return;
  }
  const Counts send(step.send_counts), receive(step.receive_counts);
  if (step.kind == Collective::all_to_all)
    MPI_Alltoallv(step.send.data(), send.counts.data(), send.begins.data(), MPI_UINT64_T,
                  step.receive.data(), receive.counts.data(), receive.begins.data(), MPI_UINT64_T,
                  MPI_COMM_WORLD);
  else
    MPI_Allgatherv(step.send.data(), send.counts[0], MPI_UINT64_T, step.receive.data(),
                   receive.counts.data(), receive.begins.data(), MPI_UINT64_T, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<float> gradient(1 << 20);
  for (int i = 0; i < 1 << 20; ++i) gradient[i] = std::sin(0.001f * i) + rank;

  cohom::Rounds rounds(argc > 1 ? argv[1] : "thc", gradient.size(), cohom::ElementType::f32, rank,
                       ranks, {.op = cohom::ReduceOp::mean});
  rounds.begin(gradient.data(), gradient.data(), 0);  // in place
  std::size_t words = 0;
  while (const RoundStep* step = rounds.next()) {
    words += step->words.size() + step->send.size();
    make(*step);
  }
  if (rank == 0)
    std::cout << "mean of " << ranks << " ranks: " << gradient[0] << ", gave " << 8 * words
              << " bytes\n";
  MPI_Finalize();
}
