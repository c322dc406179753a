#pragma once
// Loopback: ranks as threads of one process. For tests.

#include <cohom/communicator.hpp>
#include <cohom/offload.hpp>
#include <cohom/transport.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace cohom {

struct LoopbackOptions {
  /// Messages above this size complete at the sender only when the receiver has taken them, as in
  /// a rendezvous protocol; 0: all messages.
  std::size_t eager_limit = 64 * 1024;
  std::size_t preferred_message_bytes = 256 * 1024;
  /// Calls that may be in flight.
  std::uint32_t channels = 256;
  /// Chance in 1/256 that a poll passes over a message that is there: delays and reorders streams.
  unsigned delay = 0;
  std::uint64_t seed = 1;
  /// A message leaves only in a later poll of its sender, though its send is complete: as from the
  /// buffer of a full socket.
  bool lingering_sends = false;
};

/// What the ranks share. Each rank's transport is used by one thread.
class LoopbackHub {
 public:
  explicit LoopbackHub(int ranks, const LoopbackOptions& options = {});
  ~LoopbackHub();

  [[nodiscard]] std::shared_ptr<Transport> transport(int rank);
  /// An aggregator that sums in rank order once every rank's words are there.
  [[nodiscard]] std::shared_ptr<Aggregator> aggregator(int rank);
  /// A communicator over both.
  [[nodiscard]] Communicator communicator(int rank);

  struct Shared;

 private:
  std::shared_ptr<Shared> shared_;
};

}  // namespace cohom
