#pragma once
// SimulatedTransport: a Transport over an EventNetwork, in virtual time.
//
// All ranks live in one thread. What a rank does takes no time, but for its messages: each costs it
// the network's overhead when it is sent and when it is received.

#include "scale/event_network.hpp"
#include "scale/message_trace.hpp"

#include <cohom/transport.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace cohom::bench {

/// What the ranks share: the network, and each rank's messages. It outlives the transports.
class SimulatedHub final : public NetworkUser {
 public:
  /// `trace`, where there is one, gets all messages and outlives the hub.
  SimulatedHub(const NetworkShape& shape, int ranks, MessageTrace* trace = nullptr);

  [[nodiscard]] std::shared_ptr<Transport> transport(int rank);

  /// What a rank does when it starts, and whenever something has come; whether it may go on at
  /// once, as long as nothing else happened.
  using Advance = std::function<bool(int rank)>;
  /// Lets every rank advance until nothing happens any more.
  /// @throws what `advance` throws
  void run(Advance advance);

  /// Who shares nodes, and switches where the ranks know them.
  [[nodiscard]] const std::shared_ptr<const Topology>& topology() const { return topology_; }
  /// Of the rank's processor.
  [[nodiscard]] Nanoseconds now(int rank) const { return ranks_[std::size_t(rank)].now; }
  [[nodiscard]] std::uint64_t busiest_node_bytes() const { return network_.busiest_node_bytes(); }

  void delivered(Nanoseconds now, NetworkMessage& message) override;
  void sent(Nanoseconds now, const NetworkMessage& message) override;
  void awake(Nanoseconds now, int rank) override;

 private:
  friend class SimulatedChannel;
  /// A message sequence at its receiver: channel and tag, and the sender.
  using Sequence = std::pair<std::uint64_t, int>;
  struct Posted {
    std::span<std::byte> buffer;
    std::uint64_t cookie;
    std::uint64_t trace_number = 0;
  };
  struct Completed {
    Completion completion;
    int sender = -1;  ///< of a received message; -1: a message was sent
    std::uint64_t trace_number = 0;
  };
  struct Rank {
    Nanoseconds now = 0;
    bool wakes = false;
    std::map<Sequence, std::deque<Posted>> posted = {};
    std::map<Sequence, std::deque<std::vector<std::byte>>> arrived = {};
    std::deque<Completed> completed = {};
  };

  void send(int rank, NetworkMessage message);
  void receive(int rank, const Sequence& sequence, Posted posted);
  std::size_t poll(int rank, std::span<Completion> out);
  static void complete(Rank& rank, int sender, const Posted& posted,
                       std::span<const std::byte> data);
  void wake(Nanoseconds time, int rank);

  EventNetwork network_;
  std::shared_ptr<const Topology> topology_;
  std::vector<Rank> ranks_;
  Advance advance_;
  MessageTrace* trace_;
};

}  // namespace cohom::bench
