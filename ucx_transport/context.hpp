#pragma once
// Context: UCX as this library sets it up.

#include <cohom/memory_space.hpp>

#include <ucp/api/ucp.h>

#include <cstdint>
#include <string>

namespace cohom::ucx {

struct ContextSettings {
  std::string transports = {};  ///< as in UCX_TLS; empty: what the environment says
  std::string devices = {};     ///< as in UCX_NET_DEVICES; empty: likewise
  std::uint64_t features = UCP_FEATURE_TAG | UCP_FEATURE_AM;
  /// Whether addresses may be wrong: then a connection waits for its outcome, so that who makes it
  /// is told that nobody is there. UCX 1.13 may end the process when it is told later, and the
  /// address names a worker that connects to this one.
  bool addresses_may_be_wrong = false;
};

/// Local.
class Context {
 public:
  /// @throws Error(transport) when UCX cannot start.
  explicit Context(const ContextSettings& settings);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  [[nodiscard]] ucp_context_h get() const { return context_; }
  /// Whether UCX moves bytes from and to memory there. Asked of UCX: a pointer that it does not
  /// know would end the process.
  [[nodiscard]] bool reaches(MemorySpace space) const;
  /// Whether UCX itself sends messages of up to a megabyte over TCP without waiting for the
  /// receiver, from the memory they lie in. Else, and above, sends must ask for fast completion,
  /// which copies.
  [[nodiscard]] bool eager_over_tcp() const { return eager_over_tcp_; }

 private:
  void start(const ContextSettings& settings);

  bool eager_over_tcp_ = false;
  ucp_context_h context_ = nullptr;
};

/// What UCX calls the memory. Pinned memory is the processor's.
constexpr ucs_memory_type_t memory_type_of(MemorySpace space) noexcept {
  return space == MemorySpace::cuda ? UCS_MEMORY_TYPE_CUDA : UCS_MEMORY_TYPE_HOST;
}

}  // namespace cohom::ucx
