#include "mpi_ext/base/callable.hpp"

#include "mpi_ext/base/mpi_check.hpp"
#include "mpi_ext/base/mpi_family.hpp"

#include <cohom/error.hpp>

#include <string>

namespace cohom::mpi {

namespace {

/// MPI says it once and for all.
int level() {
  static const int provided = [] {
    int asked = MPI_THREAD_SINGLE;
    check(MPI_Query_thread(&asked), "MPI_Query_thread");
    return asked;
  }();
  return provided;
}

std::string name_of_level() {
  switch (level()) {
    case MPI_THREAD_SINGLE: return "MPI_THREAD_SINGLE";
    case MPI_THREAD_FUNNELED: return "MPI_THREAD_FUNNELED";
    default: return "MPI_THREAD_SERIALIZED";
  }
}

}  // namespace

void check_callable() {
  expect_own_mpi();
  if (!initialized())
    throw Error(ErrorKind::invalid_argument, "MPI is not initialized; call MPI_Init first");
  if (finalized())
    throw Error(ErrorKind::invalid_argument,
                "MPI is finalized; cohom must be called before MPI_Finalize");
  check_calling_thread();
}

void check_usable(MPI_Comm comm) {
  check_callable();
  const auto reject = [](const char* why) { throw Error(ErrorKind::invalid_argument, why); };
  if (comm == MPI_COMM_NULL) reject("the communicator is MPI_COMM_NULL");
  int between_groups = 0;
  check(MPI_Comm_test_inter(comm, &between_groups), "MPI_Comm_test_inter");
  if (between_groups != 0)
    reject("the communicator is an intercommunicator; merge it with MPI_Intercomm_merge first");
}

void check_calling_thread() {
  if (level() >= MPI_THREAD_SERIALIZED) return;
  int is_main = 0;
  check(MPI_Is_thread_main(&is_main), "MPI_Is_thread_main");
  if (is_main == 0)
    throw Error(ErrorKind::unsupported,
                "MPI gives " + name_of_level() +
                    ": only the thread that initialized it may call; ask MPI_Init_thread for "
                    "MPI_THREAD_SERIALIZED to call from other threads, for MPI_THREAD_MULTIPLE to "
                    "call from several at once");
}

std::string why_not_at_once() {
  if (level() >= MPI_THREAD_MULTIPLE) return {};
  return "MPI gives " + name_of_level() +
         ", and MPI_Init_thread is to be asked for MPI_THREAD_MULTIPLE";
}

MpiUse::MpiUse() : counted_(level() < MPI_THREAD_MULTIPLE) {
  if (!counted_ || !in_use.exchange(true, std::memory_order_acquire)) return;
  throw Error(ErrorKind::unsupported,
              "two threads call at once, and MPI gives " + name_of_level() +
                  ": communicators are independent only with MPI_THREAD_MULTIPLE, which "
                  "MPI_Init_thread is to be asked for");
}

}  // namespace cohom::mpi
