#pragma once
// ProcessWatch: whether another process of this machine has ended.

#include "base/file_descriptor.hpp"

#include <memory>

#include <sys/types.h>

namespace cohom {

class ProcessWatch {
 public:
  /// Of no process: it never ends.
  ProcessWatch() = default;
  /// Of one that lives now, or did until now. Where the kernel has no such watches it never seems
  /// to end, which the log says.
  explicit ProcessWatch(pid_t process);

  /// Asks the kernel.
  [[nodiscard]] bool has_ended() const;

 private:
  std::shared_ptr<const offload::FileDescriptor> fd_;  ///< one for all watches of a process
  bool is_gone_ = false;                               ///< it had ended before
};

}  // namespace cohom
