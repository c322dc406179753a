// A user's functions have names that the library once had for its own: they are his alone.
#include <cohom/mpix.h>

#include <stdio.h>

static int calls = 0;
int forget(void) { return ++calls; }
int run_action(void) { return ++calls; }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  float values[4] = {1, 2, 3, 4};
  const int error =
      MPIX_Allreduce_compressed(MPI_IN_PLACE, values, 4, MPI_FLOAT, MPI_SUM, comm, MPI_INFO_NULL);
  MPI_Comm_free(&comm);  // here the library lets go of what it has for comm, and below of the rest
  MPI_Finalize();
  if (error != MPI_SUCCESS || calls != 0) return 1;
  return forget() + run_action() == 3 ? 0 : 1;
}
