// mpicxx -std=c++20 allreduce.cpp $(pkg-config --cflags --libs cohom-mpi) && mpirun -n 4 ./a.out
#include <cohom/allreduce.hpp>
#include <cohom/mpi.hpp>

#include <cmath>
#include <iostream>
#include <span>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    cohom::Communicator ranks = cohom::mpi::communicator(MPI_COMM_WORLD);
    std::vector<float> gradient(1 << 20);
    for (int i = 0; i < 1 << 20; ++i) gradient[i] = std::sin(0.001f * i) + ranks.rank();

    // "auto", the default, takes MPI's own allreduce where that is faster.
    const cohom::Options options{.codec = "thc", .op = cohom::ReduceOp::mean, .native = "never"};
    cohom::allreduce(std::span(gradient), ranks, options);  // in place, on all ranks

    if (ranks.rank() == 0)
      std::cout << "mean of " << ranks.ranks() << " ranks: " << gradient[0] << ", sent "
                << ranks.wire_counters().bytes_sent << " bytes\n";
  }  // a communicator goes before MPI does
  MPI_Finalize();
}
