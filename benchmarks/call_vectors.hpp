#pragma once
// CallVectors: what measured calls reduce, in the memory that --memory names. Inputs are made, and
// results judged, in the host's memory.

#include "element_values.hpp"

#include <cohom/memory_space.hpp>

#include <mpi.h>

#include <memory>
#include <string>

namespace cohom::kernels {
struct DeviceLibrary;
}

namespace cohom::bench {

class CallVectors {
 public:
  /// Collective.
  CallVectors(MemorySpace space, MPI_Comm comm);
  /// Before the rest. Where there are several devices the ranks of a host take them in turn.
  /// @throws UsageError where there is no such memory
  void open();

  /// Vectors like these two, which outlive this. What calls read is `input`'s.
  void make(Elements& input, Elements& output);
  [[nodiscard]] const void* input() const { return input_; }
  [[nodiscard]] void* output() const { return output_; }

  /// The calls' output := the host's output, or input; the host's output := the calls'.
  void set_output();
  void put_input_in_place();
  void fetch_output();

 private:
  enum class Direction { to_calls, to_host };
  void copy(void* to, const void* from, Direction direction) const;
  [[nodiscard]] bool is_host() const { return space_ == MemorySpace::host; }

  MemorySpace space_;
  int rank_of_host_;
  const kernels::DeviceLibrary* library_ = nullptr;
  Elements* host_input_ = nullptr;
  Elements* host_output_ = nullptr;
  std::shared_ptr<void> own_input_, own_output_;
  void* input_ = nullptr;
  void* output_ = nullptr;
};

/// How results name what `space` is here: "host", "pinned", or "cuda" with the device's name.
std::string memory_text(MemorySpace space);

}  // namespace cohom::bench
