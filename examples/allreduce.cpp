// mpicxx -std=c++20 allreduce.cpp $(pkg-config --cflags --libs cohom-mpi) && mpirun -n 4 ./a.out
#include <cohom/allreduce.hpp>
#include <cohom/mpi.hpp>

#include <cmath>
#include <cstdio>
#include <span>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    cohom::Communicator communicator = cohom::mpi::communicator(MPI_COMM_WORLD);
    std::vector<float> gradient(1 << 20);
    for (std::size_t i = 0; i < gradient.size(); ++i)
      gradient[i] = std::sin(0.001f * static_cast<float>(i)) + static_cast<float>(communicator.rank());

    cohom::allreduce(std::span(gradient), communicator, {.codec = "thc", .op = cohom::ReduceOp::mean});

    if (communicator.rank() == 0)
      std::printf("mean of %d ranks: %g, sent %llu bytes\n", communicator.ranks(), gradient[0],
                  static_cast<unsigned long long>(communicator.wire_counters().bytes_sent));
  }  // a communicator goes before MPI does
  MPI_Finalize();
}
