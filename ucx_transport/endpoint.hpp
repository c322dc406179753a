#pragma once
// Endpoint: this process's connection to another one.

#include "ucx_transport/path.hpp"

#include <ucp/api/ucp.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace cohom::ucx {

/// Every function wants the worker's lock.
class Endpoint {
 public:
  /// `address` is the peer's worker's. Local: the connection comes with the first message. Counts
  /// up `failures`, which outlives it, when it breaks. @throws Error(transport) when no path leads
  /// there.
  Endpoint(ucp_worker_h worker, std::span<const std::byte> address, bool to_itself,
           std::size_t& failures);
  /// What is still under way fails.
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  [[nodiscard]] ucp_ep_h get() const { return endpoint_; }
  [[nodiscard]] Path path() const { return path_; }
  /// UCX's names of what carries messages, e.g. "posix cma".
  [[nodiscard]] const std::string& path_text() const { return path_text_; }
  /// UCS_OK as long as the peer can be reached.
  [[nodiscard]] ucs_status_t failure() const { return failure_; }

  /// A full stop is a message behind all others; once it has left, so have they. Uses are counted,
  /// so that one full stop is enough for the uses of many channels: where the peer looks no more,
  /// every further one would stay in its queue, until there is no room for another.
  /// @return the number of this use
  std::uint64_t use() { return ++uses_; }
  [[nodiscard]] bool needs_full_stop(std::uint64_t use) const { return use > covered_; }
  /// The full stop that is being sent covers all uses so far. @return their number
  std::uint64_t begin_full_stop() { return covered_ = uses_; }
  void end_full_stop(std::uint64_t covered) { left_ = std::max(left_, covered); }
  [[nodiscard]] bool has_left(std::uint64_t use) const { return use <= left_; }

 private:
  static void on_failure(void* endpoint, ucp_ep_h, ucs_status_t status);
  void read_path();

  ucp_worker_h worker_;
  std::size_t& failures_;
  ucp_ep_h endpoint_ = nullptr;
  Path path_ = Path::memory;
  std::string path_text_;
  ucs_status_t failure_ = UCS_OK;
  std::uint64_t uses_ = 0;
  std::uint64_t covered_ = 0;  ///< by full stops that were sent
  std::uint64_t left_ = 0;     ///< with them
};

}  // namespace cohom::ucx
