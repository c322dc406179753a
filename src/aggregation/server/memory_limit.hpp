#pragma once
// A bound on the memory of a process that strangers fill.

#include <cstdint>
#include <thread>

namespace cohom::offload {

/// From now on the process gets `more` bytes of data beyond what it has, whoever asks for them, UCX
/// included; then allocations fail. A tighter limit that it has already stays.
/// @return the limit, RLIMIT_DATA. @throws Error(transport) when the system refuses.
std::uint64_t limit_memory(std::uint64_t more);

/// Ends the process when less than a sixteenth of the `more` bytes that limit_memory() left it has
/// been free for some seconds: the rest is taken by what UCX keeps for somebody, who is then gone.
/// For processes that are started again.
class MemoryWatch {
 public:
  MemoryWatch(std::uint64_t limit, std::uint64_t more);

 private:
  std::jthread thread_;
};

}  // namespace cohom::offload
