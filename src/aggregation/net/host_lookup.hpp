#pragma once
// HostLookup: asks the system for a name's address without making anybody wait who has no time.

#include "aggregation/net/endpoint.hpp"

#include <memory>

namespace cohom::offload {

/// The system cannot be told to stop asking, and may take half a minute. So a thread of its own
/// asks, which keeps nothing of the caller's and ends by itself.
class HostLookup {
 public:
  /// @throws Error(transport) without descriptors or threads.
  explicit HostLookup(const Endpoint& endpoint);

  /// Readable when there is an answer.
  [[nodiscard]] int descriptor() const;
  /// Once there is one. @throws Error(transport) for a name that is not known.
  [[nodiscard]] sockaddr_in address() const;

 private:
  struct Answer;
  std::shared_ptr<Answer> answer_;
};

}  // namespace cohom::offload
