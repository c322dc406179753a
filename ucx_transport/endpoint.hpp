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

  /// A flush message goes behind all others; once it has left, so have they. Sends are counted,
  /// so that one flush message is enough for the sends of many channels: where the peer looks no
  /// more, every further one would stay in its queue, until there is no room for another.
  /// @return the number of this send
  std::uint64_t count_send() { return ++sends_; }
  [[nodiscard]] bool needs_flush(std::uint64_t send) const { return send > flushing_; }
  /// The flush message that is being sent covers all sends so far. @return their number
  std::uint64_t begin_flush() { return flushing_ = sends_; }
  void end_flush(std::uint64_t covered) { flushed_ = std::max(flushed_, covered); }
  [[nodiscard]] bool is_flushed(std::uint64_t send) const { return send <= flushed_; }

 private:
  static void on_failure(void* endpoint, ucp_ep_h, ucs_status_t status);
  void read_path();

  ucp_worker_h worker_;
  std::size_t& failures_;
  ucp_ep_h endpoint_ = nullptr;
  Path path_ = Path::memory;
  std::string path_text_;
  ucs_status_t failure_ = UCS_OK;
  std::uint64_t sends_ = 0;
  std::uint64_t flushing_ = 0;  ///< sends that a flush message covers
  std::uint64_t flushed_ = 0;   ///< of these, those that have left
};

}  // namespace cohom::ucx
