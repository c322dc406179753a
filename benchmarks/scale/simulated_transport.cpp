#include "scale/simulated_transport.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace cohom::bench {

class SimulatedChannel final : public Channel {
 public:
  SimulatedChannel(SimulatedHub& hub, int rank, std::uint32_t number, WireCounters& counters)
      : hub_(hub), rank_(rank), number_(number), counters_(counters) {}

  void send(std::span<const std::byte> data, int peer, std::uint32_t tag,
            std::uint64_t cookie) override {
    counters_.bytes_sent += data.size();
    ++counters_.messages_sent;
    hub_.send(rank_, {.source = rank_,
                      .destination = peer,
                      .bytes = data.size(),
                      .label = label(tag),
                      .cookie = cookie,
                      .data = {data.begin(), data.end()}});
  }
  void receive(std::span<std::byte> buffer, int peer, std::uint32_t tag,
               std::uint64_t cookie) override {
    hub_.receive(rank_, {label(tag), peer}, {buffer, cookie});
  }
  std::size_t poll(std::span<Completion> out) override { return hub_.poll(rank_, out); }

 private:
  [[nodiscard]] std::uint64_t label(std::uint32_t tag) const {
    return std::uint64_t{number_} << 32 | tag;
  }

  SimulatedHub& hub_;
  int rank_;
  std::uint32_t number_;
  WireCounters& counters_;
};

namespace {

class SimulatedTransport final : public Transport {
 public:
  SimulatedTransport(SimulatedHub& hub, int rank, int ranks)
      : hub_(hub), rank_(rank), ranks_(ranks) {}

  [[nodiscard]] std::string_view name() const override { return "simulated"; }
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int ranks() const override { return ranks_; }
  [[nodiscard]] std::size_t preferred_message_bytes() const override {
    return NetworkShape::message_bytes;
  }
  [[nodiscard]] bool reaches(MemorySpace space) const override {
    return space == MemorySpace::host;
  }
  [[nodiscard]] std::uint32_t channels() const override { return 256; }
  std::unique_ptr<Channel> open(std::uint32_t number) override {
    return std::make_unique<SimulatedChannel>(hub_, rank_, number, counters_);
  }
  [[nodiscard]] WireCounters counters() const override { return counters_; }
  [[nodiscard]] std::shared_ptr<const Topology> topology() const override {
    return hub_.topology();
  }

 private:
  SimulatedHub& hub_;
  int rank_, ranks_;
  WireCounters counters_;
};

}  // namespace

SimulatedHub::SimulatedHub(const NetworkShape& shape, int ranks, MessageTrace* trace)
    : network_(shape, ranks), ranks_(static_cast<std::size_t>(ranks)), trace_(trace) {
  Topology topology;
  topology.nodes.count = static_cast<std::uint32_t>(shape.nodes(ranks));
  for (int rank = 0; rank < ranks; ++rank)
    topology.nodes.of_rank.push_back(static_cast<std::uint32_t>(shape.node_of(rank)));
  if (shape.switches_known) {
    topology.switches.count = static_cast<std::uint32_t>(shape.leaf_of(ranks - 1)) + 1;
    for (int rank = 0; rank < ranks; ++rank)
      topology.switches.of_rank.push_back(static_cast<std::uint32_t>(shape.leaf_of(rank)));
  }
  topology_ = std::make_shared<const Topology>(std::move(topology));
}

std::shared_ptr<Transport> SimulatedHub::transport(int rank) {
  return std::make_shared<SimulatedTransport>(*this, rank, static_cast<int>(ranks_.size()));
}

void SimulatedHub::run(Advance advance) {
  advance_ = std::move(advance);
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) wake(0, rank);
  network_.run(*this);
}

void SimulatedHub::wake(Nanoseconds time, int rank) {
  Rank& own = ranks_[static_cast<std::size_t>(rank)];
  if (std::exchange(own.wakes, true)) return;
  network_.wake(std::max(time, own.now), rank);
}

/// What takes the rank longer than nothing is followed by a look at what has come meanwhile.
void SimulatedHub::awake(Nanoseconds now, int rank) {
  Rank& own = ranks_[static_cast<std::size_t>(rank)];
  own.wakes = false;
  own.now = std::max(own.now, now);
  const Nanoseconds before = own.now;
  while (advance_(rank))
    if (own.now > before) return wake(own.now, rank);
}

void SimulatedHub::send(int rank, NetworkMessage message) {
  Rank& own = ranks_[static_cast<std::size_t>(rank)];
  own.now += network_.shape().overhead;
  if (trace_ != nullptr) trace_->send(rank, message.destination, message.label, message.bytes);
  network_.send(own.now, std::move(message));
}

void SimulatedHub::sent(Nanoseconds now, const NetworkMessage& message) {
  ranks_[static_cast<std::size_t>(message.source)].completed.push_back(
      {{message.cookie, message.bytes}});
  wake(now, message.source);
}

void SimulatedHub::complete(Rank& rank, int sender, const Posted& posted,
                            std::span<const std::byte> data) {
  if (data.size() > posted.buffer.size())
    throw Error(ErrorKind::transport, fmt::format("message of {} bytes for a receive of {}",
                                                  data.size(), posted.buffer.size()));
  if (!data.empty()) std::memcpy(posted.buffer.data(), data.data(), data.size());
  rank.completed.push_back({{posted.cookie, data.size()}, sender, posted.trace_number});
}

void SimulatedHub::delivered(Nanoseconds now, NetworkMessage& message) {
  Rank& own = ranks_[static_cast<std::size_t>(message.destination)];
  const Sequence sequence{message.label, message.source};
  const auto posted = own.posted.find(sequence);
  if (posted == own.posted.end()) {
    own.arrived[sequence].push_back(std::move(message.data));
    return;
  }
  complete(own, message.source, posted->second.front(), message.data);
  posted->second.pop_front();
  if (posted->second.empty()) own.posted.erase(posted);
  wake(now, message.destination);
}

void SimulatedHub::receive(int rank, const Sequence& sequence, Posted posted) {
  if (trace_ != nullptr)
    posted.trace_number =
        trace_->receive(rank, sequence.second, sequence.first, posted.buffer.size());
  Rank& own = ranks_[static_cast<std::size_t>(rank)];
  const auto arrived = own.arrived.find(sequence);
  if (arrived == own.arrived.end()) {
    own.posted[sequence].push_back(posted);
    return;
  }
  complete(own, sequence.second, posted, arrived->second.front());
  arrived->second.pop_front();
  if (arrived->second.empty()) own.arrived.erase(arrived);
}

std::size_t SimulatedHub::poll(int rank, std::span<Completion> out) {
  Rank& own = ranks_[static_cast<std::size_t>(rank)];
  std::size_t count = 0;
  for (; count < out.size() && !own.completed.empty(); ++count) {
    const Completed& completed = own.completed.front();
    if (completed.sender >= 0) {
      own.now += network_.shape().overhead;
      if (trace_ != nullptr) trace_->received(rank, completed.sender, completed.trace_number);
    }
    out[count] = completed.completion;
    own.completed.pop_front();
  }
  return count;
}

}  // namespace cohom::bench
