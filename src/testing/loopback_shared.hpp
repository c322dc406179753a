#pragma once
// What the ranks of a loopback hub share: inboxes, and the sums of its aggregator.

#include "node_window/node_window.hpp"
#include "testing/loopback_transport.hpp"
#include "topology/rank_place.hpp"

#include <atomic>
#include <compare>
#include <deque>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

namespace cohom {

struct LoopbackHub::Shared {
  /// A stream of messages at its receiver.
  struct Key {
    std::uint32_t channel;
    int sender;
    std::uint32_t tag;
    // It takes the 0 of a comparison for a null pointer. NOLINTNEXTLINE(modernize-use-nullptr)
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Message {
    std::vector<std::byte> copy;               ///< eager
    std::span<const std::byte> lent;           ///< rendezvous: the sender's memory
    std::shared_ptr<std::atomic<bool>> taken;  ///< set by the receiver; null when eager
  };
  struct Inbox {
    std::mutex mutex;
    std::map<Key, std::deque<Message>> queues;
  };
  /// One reduction of an aggregator: in the network or not, call, round, number in the round.
  using SumKey = std::tuple<bool, std::uint64_t, int, std::size_t>;
  struct Sum {
    std::vector<std::vector<std::uint64_t>> contributions;
    int arrived = 0;
    int fetched = 0;
  };

  /// One sum of whole vectors, by the order in which ranks start them.
  struct NativeVectors {
    std::vector<std::vector<std::byte>> contributions;
    std::size_t arrived = 0;
    std::size_t fetched = 0;
  };

  Shared(int ranks, const LoopbackOptions& o);

  LoopbackOptions options;
  std::vector<std::unique_ptr<Inbox>> inboxes;
  std::vector<RankPlace> places;
  std::vector<std::shared_ptr<NodeWindow>> windows;  ///< by rank; none: messages go by inboxes
  std::mutex sums_mutex;
  std::map<SumKey, Sum> sums;
  std::map<std::uint64_t, NativeVectors> native_sums;  ///< with the mutex of sums
  std::atomic<std::size_t> native_blocked = 0;         ///< sums that blocked, on all ranks
};

/// `in_network`: one that may fail.
std::shared_ptr<Aggregator> make_loopback_aggregator(std::shared_ptr<LoopbackHub::Shared> shared,
                                                     int rank, bool in_network);

std::shared_ptr<NativeSums> make_loopback_sums(std::shared_ptr<LoopbackHub::Shared> shared,
                                               int rank);

}  // namespace cohom
