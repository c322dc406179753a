// mpicxx -std=c++20 exact_sum.cpp $(pkg-config --cflags --libs cohom-mpi) && mpirun -n 4 ./a.out
// prints the same numbers with any number of ranks.
#include <cohom/exact_sum.hpp>
#include <cohom/mpi.hpp>

#include <cmath>
#include <iostream>
#include <span>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    cohom::Communicator ranks = cohom::mpi::communicator(MPI_COMM_WORLD);
    constexpr int blocks = 24, cells = 1000;
    cohom::ExactSum energy(cells, cohom::ElementType::f64);
    for (int block = ranks.rank(); block < blocks; block += ranks.ranks()) {
      std::vector<double> part(cells);
      for (int i = 0; i < cells; ++i) part[i] = std::sin(0.1 * i + block) * std::exp(block - 12);
      energy.add(part);
    }
    std::vector<double> total(cells);
    energy.allreduce(total, ranks);  // exact, then rounded once

    if (ranks.rank() == 0)
      std::cout << "sum of " << blocks << " blocks: " << std::hexfloat << total[0] << ", "
                << total[1] << ", " << total[2] << " ...\n";
  }  // a communicator goes before MPI does
  MPI_Finalize();
}
