#pragma once
// Loopback: ranks as threads of one process. For tests.

#include <cohom/communicator.hpp>
#include <cohom/offload.hpp>
#include <cohom/transport.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

namespace cohom {

/// What goes wrong at a hub's aggregator in the network. Several threads ask at once.
struct AggregatorFaults {
  /// A rank's part in one reduction.
  struct Part {
    int rank = 0;
    std::uint64_t call = 0;
    int round = 0;
    std::size_t number = 0;  ///< in the round
  };
  enum class Loss {
    none,
    contribution,  ///< never arrives, and the rank learns so
    sum,           ///< never comes back to the rank, and it learns so
  };

  std::function<Loss(const Part&)> loss = {};  ///< empty: none
  std::function<bool(int rank)> ready = {};    ///< empty: always
  std::function<bool(int rank)> opens = {};    ///< whether open() succeeds; empty: always
  std::function<bool(Merge)> supports = {};    ///< empty: all but add_packed
  std::size_t max_words = std::numeric_limits<std::size_t>::max();
  /// While it is true nobody gets anything, and no rank is ready; all that is under way is lost.
  std::atomic<bool> dead = false;
};

struct LoopbackOptions {
  /// Messages above this size complete at the sender only when the receiver has taken them, as in
  /// a rendezvous protocol; 0: all messages.
  std::size_t eager_limit = 64 * 1024;
  std::size_t preferred_message_bytes = 256 * 1024;
  /// Calls that may be in flight.
  std::uint32_t channels = 256;
  /// Numbers of the ranks' nodes, in any order, by rank. Empty: each is on a node of its own.
  /// COHOM_TOPOLOGY replaces them, for the ranks of a hub as for a job.
  std::vector<std::uint64_t> nodes = {};
  /// Ranks of a node send each other messages by node windows.
  bool node_windows = false;
  /// Chance in 1/256 that a poll passes over a message that is there: delays and reorders streams.
  unsigned delay = 0;
  std::uint64_t seed = 1;
  /// Of the aggregator in the network; null: none.
  std::shared_ptr<const AggregatorFaults> faults = nullptr;
  /// A message leaves only in a later poll of its sender, though its send is complete: as from the
  /// buffer of a full socket.
  bool lingering_sends = false;
  /// Called on each rank before its part of a native sum.
  std::function<void()> before_native_sum = {};
  /// How bytes are copied from or to memory of a device, which the loopback then reaches. Empty: it
  /// does not.
  std::function<void(void* to, const void* from, std::size_t bytes)> copy = {};
};

/// What the ranks share. Each rank's transport is used by one thread.
class LoopbackHub {
 public:
  /// @throws Error(invalid_argument) for a COHOM_TOPOLOGY that is wrong
  explicit LoopbackHub(int ranks, const LoopbackOptions& options = {});
  ~LoopbackHub();

  [[nodiscard]] std::shared_ptr<Transport> transport(int rank);
  /// An aggregator that sums in rank order once every rank's words are there. It fails never.
  [[nodiscard]] std::shared_ptr<Aggregator> native_reductions(int rank);
  /// The same, but one that may fail, and does as LoopbackOptions::faults says.
  [[nodiscard]] std::shared_ptr<Aggregator> network(int rank);
  /// An allreduce of whole vectors, which adds them in rank order.
  [[nodiscard]] std::shared_ptr<NativeSums> native_sums(int rank);
  /// How many of its sums blocked so far, on all ranks.
  [[nodiscard]] std::size_t native_sums_that_blocked() const;
  /// A communicator with all four; the network's aggregator is attached, and is "loopback", too.
  [[nodiscard]] Communicator communicator(int rank);

  struct Shared;

 private:
  std::shared_ptr<Shared> shared_;
};

}  // namespace cohom
