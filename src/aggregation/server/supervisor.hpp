#pragma once
// Supervisor: what faces the network runs in a child of a small process, which starts it again when
// it dies. UCX ends its process for bytes that anybody can send; so a daemon is away for a moment,
// not for good.

#include "base/file_descriptor.hpp"

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>

namespace cohom::offload {

/// How long to wait before the next start, after that many deaths in a row each within some seconds
/// of its start: a tenth of a second at first, then longer and longer.
std::chrono::milliseconds pause_after(std::uint32_t quick_deaths);

/// To be made before there are threads, UCX or MPI. Passes on SIGTERM, SIGINT and SIGHUP; when it
/// dies itself, the child does, too.
class Supervisor {
 public:
  /// None: this is the child, which is to serve. Else: the exit status of the parent, which is
  /// over.
  /// @throws Error(transport) when there can be no first child.
  std::optional<int> run();

  // Of the child.
  /// How often it was started again.
  [[nodiscard]] std::uint64_t restarts() const { return restarts_; }
  /// It serves: from now on an end is no error of the command line.
  void serving() const;

 private:
  bool start();
  void make_child();
  int wait_for_child();
  void pass_on(int signal);
  [[nodiscard]] bool has_served() const;
  bool pause(std::chrono::milliseconds time);

  std::uint64_t restarts_ = 0;
  std::uint32_t quick_deaths_ = 0;
  bool stopping_ = false;
  pid_t child_ = -1;  ///< 0: this is it
  FileDescriptor served_, tell_served_;
};

}  // namespace cohom::offload
