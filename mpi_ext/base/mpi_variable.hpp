#pragma once
// MpiVariable: a parameter of the MPI library, through MPI's tool interface (MPI_T).

#include <mpi.h>

namespace cohom::mpi {

/// While it lives, variables can be found.
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

class MpiVariable {
 public:
  explicit MpiVariable(const char* name) {
    int index = 0;
    int count = 0;
    found_ = MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS &&
             MPI_T_cvar_handle_alloc(index, nullptr, &handle_, &count) == MPI_SUCCESS;
  }
  MpiVariable(const MpiVariable&) = delete;
  MpiVariable& operator=(const MpiVariable&) = delete;
  ~MpiVariable() {
    if (found_) MPI_T_cvar_handle_free(&handle_);
  }

  [[nodiscard]] bool found() const { return found_; }
  /// The value, or `otherwise` where there is none. A bool fills only the first byte.
  [[nodiscard]] int read(int otherwise) const {
    int value = 0;
    return found_ && MPI_T_cvar_read(handle_, &value) == MPI_SUCCESS ? value : otherwise;
  }
  /// Whether the library has taken it.
  bool write(int value) const {
    return found_ && MPI_T_cvar_write(handle_, &value) == MPI_SUCCESS && read(-1) == value;
  }

 private:
  MPI_T_cvar_handle handle_ = MPI_T_CVAR_HANDLE_NULL;
  bool found_ = false;
};

}  // namespace cohom::mpi
