#pragma once
// EventNetwork: messages between ranks of a NetworkShape, in virtual time.
//
// Every adapter, link and copy serves one message after the other, in the order in which they come
// to it. Messages cut through: a switch passes the first bytes on before it has the last ones. So a
// message takes its latency and once the time of its bytes, and waits where others are served.

#include "scale/network_shape.hpp"

#include <cstddef>
#include <cstdint>
#include <queue>
#include <vector>

namespace cohom::bench {

struct NetworkMessage {
  int source = 0;
  int destination = 0;
  std::uint64_t bytes = 0;
  std::uint32_t part = 0;  ///< the rest is the sender's and the receiver's own
  std::uint64_t label = 0;
  std::uint64_t cookie = 0;
  std::vector<std::byte> data = {};
};

/// Who lives on the network: what happens there, in the order of time.
class NetworkUser {
 public:
  virtual ~NetworkUser() = default;
  virtual void delivered(Nanoseconds now, NetworkMessage& message) = 0;
  /// The sender's memory is free again.
  virtual void sent(Nanoseconds now, const NetworkMessage& message) = 0;
  /// As asked for by EventNetwork::wake().
  virtual void awake(Nanoseconds now, int rank) = 0;
};

class EventNetwork {
 public:
  EventNetwork(const NetworkShape& shape, int ranks);

  /// The message leaves the sender's processor at `time`, which is not before the present.
  void send(Nanoseconds time, NetworkMessage message);
  void wake(Nanoseconds time, int rank);
  /// Until nothing more happens.
  void run(NetworkUser& user);

  [[nodiscard]] const NetworkShape& shape() const { return shape_; }
  /// Most bytes that any node has sent to others.
  [[nodiscard]] std::uint64_t busiest_node_bytes() const;

 private:
  /// Where a message goes next; or what an event is besides.
  enum class Stage : std::uint8_t { out, up, down, in, arrival, sent, wake };
  struct Event {
    Nanoseconds time;
    std::uint64_t order;   ///< of events at one time: as they were made
    std::uint32_t number;  ///< of a message, or a rank
    Stage stage;
    friend bool operator<(const Event& a, const Event& b) {
      return a.time != b.time ? a.time > b.time : a.order > b.order;
    }
  };
  struct Held {
    NetworkMessage message;
    std::uint8_t uses = 0;  ///< events to come
  };

  void push(Nanoseconds time, Stage stage, std::uint32_t number);
  void push_message(Nanoseconds time, Stage stage, std::uint32_t number);
  std::uint32_t hold(NetworkMessage message);
  void handle(const Event& event, NetworkUser& user);
  void let_go(std::uint32_t number);
  void step(const Event& event);
  void leave(const Event& event, const NetworkMessage& message);
  void copy(const Event& event, const NetworkMessage& message);
  /// Of the latency, what cables, adapters and software take on either side.
  [[nodiscard]] Nanoseconds end_latency() const { return (shape_.latency - 3 * shape_.hop) / 2; }
  [[nodiscard]] std::size_t link_of(int node, int destination) const;

  NetworkShape shape_;
  std::priority_queue<Event> events_;
  std::uint64_t events_made_ = 0;
  std::vector<Held> held_;
  std::vector<std::uint32_t> free_;  ///< of held_
  /// When each is free again: by node, link of a leaf, rank.
  std::vector<Nanoseconds> out_, in_, up_, down_, memory_, copy_;
  std::vector<std::uint64_t> node_bytes_;
};

}  // namespace cohom::bench
