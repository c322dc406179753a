#pragma once
// Endpoint: this process's connection to another one.

#include <ucp/api/ucp.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace cohom::ucx {

/// What carries messages, as far as it decides how they are best sent. Of a group, the highest counts.
enum class Path : std::uint8_t { memory, network, tcp };

/// Every function wants the worker's lock.
class Endpoint {
 public:
  /// `address` is the peer's worker's. Local: the connection comes with the first message. Counts up
  /// `failures`, which outlives it, when it breaks. @throws Error(transport) when no path leads there.
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

 private:
  static void on_failure(void* endpoint, ucp_ep_h, ucs_status_t status);
  void read_path();

  ucp_worker_h worker_;
  std::size_t& failures_;
  ucp_ep_h endpoint_ = nullptr;
  Path path_ = Path::memory;
  std::string path_text_;
  ucs_status_t failure_ = UCS_OK;
};

}  // namespace cohom::ucx
