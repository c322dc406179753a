#include "scale/event_network.hpp"

#include <algorithm>
#include <utility>

namespace cohom::bench {
namespace {

/// @returns when it begins
Nanoseconds serve(Nanoseconds now, Nanoseconds& free, Nanoseconds time) {
  const Nanoseconds begin = std::max(now, free);
  free = begin + time;
  return begin;
}

}  // namespace

EventNetwork::EventNetwork(const NetworkShape& shape, int ranks) : shape_(shape) {
  const auto nodes = static_cast<std::size_t>(shape.nodes(ranks));
  const auto leaf = static_cast<std::size_t>(shape.nodes_a_leaf);
  const std::size_t links = (nodes + leaf - 1) / leaf * static_cast<std::size_t>(shape.uplinks);
  for (auto* const by_node : {&out_, &in_, &memory_}) by_node->resize(nodes);
  for (auto* const by_link : {&up_, &down_}) by_link->resize(links);
  copy_.resize(static_cast<std::size_t>(ranks));
  node_bytes_.resize(nodes);
}

void EventNetwork::push(Nanoseconds time, Stage stage, std::uint32_t number) {
  events_.push({time, events_made_++, number, stage});
}

void EventNetwork::push_message(Nanoseconds time, Stage stage, std::uint32_t number) {
  ++held_[number].uses;
  push(time, stage, number);
}

std::uint32_t EventNetwork::hold(NetworkMessage message) {
  if (free_.empty()) {
    held_.push_back({std::move(message)});
    return static_cast<std::uint32_t>(held_.size() - 1);
  }
  const std::uint32_t number = free_.back();
  free_.pop_back();
  held_[number].message = std::move(message);
  return number;
}

void EventNetwork::let_go(std::uint32_t number) {
  if (--held_[number].uses != 0) return;
  held_[number].message.data = {};
  free_.push_back(number);
}

void EventNetwork::send(Nanoseconds time, NetworkMessage message) {
  const int node = shape_.node_of(message.source);
  if (node != shape_.node_of(message.destination))
    node_bytes_[static_cast<std::size_t>(node)] += message.bytes;
  push_message(time, Stage::out, hold(std::move(message)));
}

void EventNetwork::wake(Nanoseconds time, int rank) {
  push(time, Stage::wake, static_cast<std::uint32_t>(rank));
}

void EventNetwork::run(NetworkUser& user) {
  while (!events_.empty()) {
    const Event event = events_.top();
    events_.pop();
    handle(event, user);
  }
}

void EventNetwork::handle(const Event& event, NetworkUser& user) {
  if (event.stage == Stage::wake) return user.awake(event.time, static_cast<int>(event.number));
  if (event.stage == Stage::sent) {
    user.sent(event.time, held_[event.number].message);
  } else if (event.stage == Stage::arrival) {
    // What the user does may hold further messages, and so move this one.
    NetworkMessage message = std::move(held_[event.number].message);
    user.delivered(event.time, message);
  } else {
    step(event);
  }
  let_go(event.number);
}

/// Links are chosen by destination, as static routes are.
std::size_t EventNetwork::link_of(int node, int destination) const {
  const int leaf = node / shape_.nodes_a_leaf;
  return static_cast<std::size_t>(leaf) * static_cast<std::size_t>(shape_.uplinks) +
         static_cast<std::size_t>(destination % shape_.uplinks);
}

void EventNetwork::step(const Event& event) {
  const NetworkMessage& message = held_[event.number].message;
  const int from = shape_.node_of(message.source);
  const int to = shape_.node_of(message.destination);
  const Nanoseconds bytes = message.bytes / shape_.link;
  if (event.stage == Stage::out) {
    if (from == to)
      copy(event, message);
    else
      leave(event, message);
  } else if (event.stage == Stage::up) {
    const Nanoseconds begin = serve(event.time, up_[link_of(from, to)], bytes);
    push_message(begin + shape_.hop, Stage::down, event.number);
  } else if (event.stage == Stage::down) {
    const Nanoseconds begin = serve(event.time, down_[link_of(to, to)], bytes);
    push_message(begin + shape_.hop, Stage::in, event.number);
  } else {
    const Nanoseconds time = bytes + shape_.adapter_gap;
    const Nanoseconds begin = serve(event.time, in_[static_cast<std::size_t>(to)], time);
    push_message(begin + time + end_latency(), Stage::arrival, event.number);
  }
}

void EventNetwork::leave(const Event& event, const NetworkMessage& message) {
  const int from = shape_.node_of(message.source);
  const int to = shape_.node_of(message.destination);
  const bool near = from / shape_.nodes_a_leaf == to / shape_.nodes_a_leaf;
  const Nanoseconds time = message.bytes / shape_.link + shape_.adapter_gap;
  const Nanoseconds begin = serve(event.time, out_[static_cast<std::size_t>(from)], time);
  push_message(begin + time, Stage::sent, event.number);
  push_message(begin + end_latency() + shape_.hop, near ? Stage::in : Stage::up, event.number);
}

/// Within a node: by the sending rank, whose copies take turns, and at most as fast as the memory
/// that all ranks of the node share.
void EventNetwork::copy(const Event& event, const NetworkMessage& message) {
  const Nanoseconds own = message.bytes / shape_.copy;
  const Nanoseconds shared = message.bytes / shape_.memory;
  const Nanoseconds begin = serve(event.time, copy_[static_cast<std::size_t>(message.source)], own);
  const auto node = static_cast<std::size_t>(shape_.node_of(message.source));
  const Nanoseconds end = std::max(begin + own, serve(begin, memory_[node], shared) + shared);
  push_message(end, Stage::sent, event.number);
  push_message(end + shape_.memory_latency, Stage::arrival, event.number);
}

std::uint64_t EventNetwork::busiest_node_bytes() const {
  return *std::ranges::max_element(node_bytes_);
}

}  // namespace cohom::bench
