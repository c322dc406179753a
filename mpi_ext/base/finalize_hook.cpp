#include "mpi_ext/base/finalize_hook.hpp"

#include "mpi_ext/base/mpi_check.hpp"

namespace cohom::mpi {

extern "C" {  // as MPI calls it; static, as no namespace keeps a C function apart from a user's

static int run_action(MPI_Comm /*self*/, int /*keyval*/, void* action, void* /*extra*/) {
  reinterpret_cast<void (*)()>(action)();
  return MPI_SUCCESS;
}

}  // extern "C"

// MPI_Finalize begins with freeing MPI_COMM_SELF, which calls the delete callbacks of the
// attributes on it, last set first (MPI-3.1, section 8.7.1).
void at_finalize(void (*action)()) {
  int keyval = MPI_KEYVAL_INVALID;
  check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, run_action, &keyval, nullptr),
        "MPI_Comm_create_keyval");
  check(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, reinterpret_cast<void*>(action)),
        "MPI_Comm_set_attr");
  check(MPI_Comm_free_keyval(&keyval), "MPI_Comm_free_keyval");  // it stays while it is in use
}

}  // namespace cohom::mpi
