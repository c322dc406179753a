// Open MPI lets a program write its tuning parameters through MPI's tool interface (MPI_T). The
// component `tuned` reads them whenever a communicator is made, and keeps what it read.

#include "open_mpi_tuning.hpp"

namespace cohom::bench {
namespace {

constexpr const char* dynamic_rules = "coll_tuned_use_dynamic_rules";
constexpr const char* allreduce_algorithm = "coll_tuned_allreduce_algorithm";

class ToolInterface {
 public:
  ToolInterface() {
    int provided = 0;
    ready_ = MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS;
  }
  ToolInterface(const ToolInterface&) = delete;
  ToolInterface& operator=(const ToolInterface&) = delete;
  ~ToolInterface() {
    if (ready_) MPI_T_finalize();
  }
  [[nodiscard]] bool ready() const { return ready_; }

 private:
  bool ready_ = false;
};

/// One parameter of the MPI library.
class Variable {
 public:
  explicit Variable(const char* name) {
    int index = 0;
    int count = 0;
    found_ = MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS &&
             MPI_T_cvar_handle_alloc(index, nullptr, &handle_, &count) == MPI_SUCCESS;
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() {
    if (found_) MPI_T_cvar_handle_free(&handle_);
  }

  /// The value, or `otherwise` where there is none. A bool fills only the first byte.
  [[nodiscard]] int read(int otherwise) const {
    int value = 0;
    return found_ && MPI_T_cvar_read(handle_, &value) == MPI_SUCCESS ? value : otherwise;
  }
  bool write(int value) const {
    return found_ && MPI_T_cvar_write(handle_, &value) == MPI_SUCCESS && read(-1) == value;
  }

 private:
  MPI_T_cvar_handle handle_ = MPI_T_CVAR_HANDLE_NULL;
  bool found_ = false;
};

bool on_all_ranks(MPI_Comm comm, bool here) {
  int all = here ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm);
  return all == 1;
}

}  // namespace

MPI_Comm duplicate_with_algorithm(MPI_Comm comm, int number) {
  const ToolInterface tool;
  if (!on_all_ranks(comm, tool.ready())) return MPI_COMM_NULL;
  const Variable algorithm(allreduce_algorithm);
  const int before = algorithm.read(0);
  const bool forced = Variable(dynamic_rules).read(0) != 0 && algorithm.write(number);
  MPI_Comm duplicate = MPI_COMM_NULL;
  if (on_all_ranks(comm, forced)) MPI_Comm_dup(comm, &duplicate);
  if (forced) algorithm.write(before);
  return duplicate;
}

}  // namespace cohom::bench
