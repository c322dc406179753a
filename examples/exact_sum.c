/* mpicc exact_sum.c $(pkg-config --cflags --libs cohom-mpi) -lm && mpirun -n 4 ./a.out
 * prints the same numbers with any number of ranks. */
#include <cohom/mpix.h>

#include <math.h>
#include <stdio.h>

enum { blocks = 24, cells = 1000 };
static double part[cells], total[cells];

int main(int argc, char** argv) {
  int rank, ranks;
  MPIX_Compressed_exact energy;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  MPIX_Compressed_exact_create(cells, MPI_DOUBLE, &energy);
  for (int block = rank; block < blocks; block += ranks) {
    for (int i = 0; i < cells; ++i) part[i] = sin(0.1 * i + block) * exp(block - 12);
    MPIX_Compressed_exact_add(energy, part);
  }
  MPIX_Compressed_exact_allreduce(energy, total, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL);
  MPIX_Compressed_exact_free(&energy);

  if (rank == 0) printf("sum of %d blocks: %a, %a, %a ...\n", blocks, total[0], total[1], total[2]);
  MPI_Finalize();
  return 0;
}
