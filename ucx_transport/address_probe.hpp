#pragma once
// AddressProbe: tries an address of UCX in another process. UCX trusts addresses: one that is none
// may end the process that connects to it, which then is one that nobody misses.

#include "ucx_transport/context.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace cohom::ucx {

/// Its program, cohom-ucx-probe: COHOM_PROBE_PROGRAM (a path; empty: none), else beside own_file(),
/// or in the programs' folder of its installation, where is_as_safe_as_own_file() holds. None: it
/// is nowhere.
std::optional<std::string> probe_program();

/// For one thread at a time.
class AddressProbe {
 public:
  /// UCX is set up there as `settings` say, which are those of the worker that is to connect.
  AddressProbe(std::string program, ContextSettings settings);
  ~AddressProbe();
  AddressProbe(const AddressProbe&) = delete;
  AddressProbe& operator=(const AddressProbe&) = delete;

  /// Why UCX does not connect to it; empty: it does. Starts the process where none runs, and blocks
  /// for 10 s at most, or until it is to stop: then the answer says nothing.
  /// @throws Error(transport) when there is no process to try it in.
  std::string why_not(std::span<const std::byte> address, const std::stop_token& stop = {});
  /// Ends the process; the next address has another one.
  void rest();

 private:
  class Process;
  std::optional<std::string> ask(std::span<const std::byte> address, const std::stop_token& stop);

  std::string program_;
  ContextSettings settings_;
  std::unique_ptr<Process> process_;
};

/// What runs in that process, on a socket: answers every address until the other end is closed.
void answer_probes(int socket);

}  // namespace cohom::ucx
