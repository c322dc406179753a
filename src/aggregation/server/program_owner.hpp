#pragma once
// Whether the process that loaded an eBPF program still lives.

#include "base/file_descriptor.hpp"

#include <cstdint>

namespace cohom::offload {

/// A mark on a program that the kernel takes away when the process ends, whatever ends it: the
/// program is put into a program array, which the kernel empties when no process has it open any
/// more. Unlike a socket's name or a lock file it is out of reach of users who may not load
/// programs, and it is where the program is, whatever namespaces a process sees.
class ProgramOwner {
 public:
  /// Marks a program as this process's. @throws Error(transport)
  explicit ProgramOwner(int program);

  enum class State {
    lives,
    ended,
    unknown,  ///< the program has no mark
  };
  /// @throws nothing: what cannot be looked at is unknown.
  static State state_of(std::uint32_t program_id);

 private:
  FileDescriptor mark_;
};

}  // namespace cohom::offload
