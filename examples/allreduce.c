/* mpicc allreduce.c $(pkg-config --cflags --libs cohom-mpi) && mpirun -n 4 ./a.out */
#include <cohom/mpix.h>

#include <stdio.h>

enum { count = 1 << 20 };
static float gradient[count];

int main(int argc, char** argv) {
  int rank;
  MPI_Info info;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < count; ++i) gradient[i] = (float)(i % 7 + rank);

  MPI_Info_create(&info);
  MPI_Info_set(info, "cohom_codec", "thc:bits=4"); /* or MPI's own sum, where it is faster */
  MPIX_Allreduce_compressed(MPI_IN_PLACE, gradient, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD,
                            info);
  MPI_Info_free(&info);

  if (rank == 0) printf("sum: %g, %g, %g ...\n", gradient[0], gradient[1], gradient[2]);
  MPI_Finalize();
  return 0;
}
