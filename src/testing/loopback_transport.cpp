#include "testing/loopback_transport.hpp"

#include "node_window/node_transport.hpp"
#include "testing/loopback_shared.hpp"
#include "topology/binding.hpp"
#include "topology/topology_of.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <cstring>
#include <deque>
#include <string>
#include <utility>

namespace cohom {

namespace {

using Message = LoopbackHub::Shared::Message;
using Key = LoopbackHub::Shared::Key;

class LoopbackChannel final : public Channel {
 public:
  LoopbackChannel(std::shared_ptr<LoopbackHub::Shared> shared, int rank, std::uint32_t number,
                  WireCounters& counters)
      : shared_(std::move(shared)), rank_(rank), number_(number), counters_(counters) {
    random_ = shared_->options.seed * 0x9e3779b97f4a7c15u + std::uint64_t(rank) * 7919 + number;
  }

  void send(std::span<const std::byte> data, int peer, std::uint32_t tag,
            std::uint64_t cookie) override {
    counters_.bytes_sent += data.size();
    ++counters_.messages_sent;
    Message message;
    if (data.size() <= shared_->options.eager_limit) {
      message.copy.resize(data.size());
      copy(message.copy.data(), data.data(), data.size());
      finished_.push_back({cookie, data.size()});
    } else {
      message.lent = data;
      message.taken = std::make_shared<std::atomic<bool>>(false);
      sends_.push_back({message.taken, {cookie, data.size()}});
    }
    leaving_.push_back({peer, {number_, rank_, tag}, std::move(message)});
    if (!shared_->options.lingering_sends) let_one_leave();
  }

  void receive(std::span<std::byte> buffer, int peer, std::uint32_t tag,
               std::uint64_t cookie) override {
    for (auto& stream : receives_)
      if (stream.key == Key{number_, peer, tag}) {
        stream.posted.push_back({buffer, cookie});
        return;
      }
    receives_.push_back({{number_, peer, tag}, {{buffer, cookie}}});
  }

  std::size_t poll(std::span<Completion> out) override {
    let_one_leave();
    for (auto& stream : receives_) take(stream);
    std::erase_if(receives_, [](const Stream& stream) { return stream.posted.empty(); });
    std::erase_if(sends_, [&](const OpenSend& send) {
      if (!send.taken->load(std::memory_order_acquire)) return false;
      finished_.push_back(send.completion);
      return true;
    });
    const std::size_t count = std::min(out.size(), finished_.size());
    std::copy_n(finished_.begin(), count, out.begin());
    finished_.erase(finished_.begin(), finished_.begin() + std::ptrdiff_t(count));
    return count;
  }

  bool flushed() override {
    let_one_leave();
    return leaving_.empty();
  }

 private:
  struct Leaving {
    int peer;
    Key key;
    Message message;
  };
  struct Posted {
    std::span<std::byte> buffer;
    std::uint64_t cookie;
  };
  struct Stream {
    Key key;
    std::deque<Posted> posted;
  };
  struct OpenSend {
    std::shared_ptr<std::atomic<bool>> taken;
    Completion completion;
  };

  void copy(void* to, const void* from, std::size_t bytes) const {
    if (bytes == 0) return;
    if (shared_->options.copy)
      shared_->options.copy(to, from, bytes);
    else
      std::memcpy(to, from, bytes);
  }

  void let_one_leave() {
    if (leaving_.empty()) return;
    auto& inbox = *shared_->inboxes[std::size_t(leaving_.front().peer)];
    {
      const std::lock_guard lock(inbox.mutex);
      inbox.queues[leaving_.front().key].push_back(std::move(leaving_.front().message));
    }
    leaving_.pop_front();
  }

  bool passes_over() {
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    return (random_ >> 56) < shared_->options.delay;
  }

  void take(Stream& stream) {
    auto& inbox = *shared_->inboxes[std::size_t(rank_)];
    while (!stream.posted.empty() && !passes_over()) {
      Message message;
      {
        const std::lock_guard lock(inbox.mutex);
        const auto queue = inbox.queues.find(stream.key);
        if (queue == inbox.queues.end()) return;
        message = std::move(queue->second.front());
        queue->second.pop_front();
        if (queue->second.empty()) inbox.queues.erase(queue);
      }
      const Posted posted = stream.posted.front();
      stream.posted.pop_front();
      const std::span<const std::byte> data =
          message.taken ? message.lent : std::span<const std::byte>(message.copy);
      if (data.size() > posted.buffer.size())
        throw Error(ErrorKind::transport, "message of " + std::to_string(data.size()) +
                                              " bytes for a receive of " +
                                              std::to_string(posted.buffer.size()));
      copy(posted.buffer.data(), data.data(), data.size());
      if (message.taken) message.taken->store(true, std::memory_order_release);
      finished_.push_back({posted.cookie, data.size()});
    }
  }

  std::shared_ptr<LoopbackHub::Shared> shared_;
  int rank_;
  std::uint32_t number_;
  WireCounters& counters_;
  std::uint64_t random_;
  std::vector<Stream> receives_;
  std::deque<Leaving> leaving_;
  std::vector<OpenSend> sends_;
  std::deque<Completion> finished_;
};

class LoopbackTransport final : public Transport {
 public:
  LoopbackTransport(std::shared_ptr<LoopbackHub::Shared> shared, int rank)
      : shared_(std::move(shared)), rank_(rank) {}

  [[nodiscard]] std::string_view name() const override { return "loopback"; }
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int ranks() const override { return static_cast<int>(shared_->inboxes.size()); }
  [[nodiscard]] std::size_t preferred_message_bytes() const override {
    return shared_->options.preferred_message_bytes;
  }
  [[nodiscard]] bool reaches(MemorySpace space) const override {
    return space != MemorySpace::cuda || shared_->options.copy;
  }
  [[nodiscard]] WireCounters counters() const override { return counters_; }

  [[nodiscard]] std::uint32_t channels() const override { return shared_->options.channels; }
  std::unique_ptr<Channel> open(std::uint32_t number) override {
    return std::make_unique<LoopbackChannel>(shared_, rank_, number, counters_);
  }
  [[nodiscard]] std::shared_ptr<const Topology> topology() const override {
    return std::make_shared<const Topology>(
        topology_of(shared_->places, static_cast<std::size_t>(rank_), this_machine()));
  }

 private:
  std::shared_ptr<LoopbackHub::Shared> shared_;
  int rank_;
  WireCounters counters_;
};

RankGroups nodes_of(const std::vector<RankPlace>& places) {
  return topology_of(places, 0, this_machine()).nodes;
}

/// Of a rank, whose threads all have one memory.
NodeWindows windows_of(const LoopbackHub::Shared& shared, int rank) {
  const RankGroups nodes = nodes_of(shared.places);
  NodeWindows windows;
  windows.window = shared.windows[std::size_t(rank)];
  for (const int peer : nodes.ranks_of(nodes.of_rank[std::size_t(rank)])) {
    if (peer == rank) windows.own = windows.peers.size();
    windows.peers.push_back(
        {.rank = peer, .window = std::make_unique<PeerWindow>(*shared.windows[std::size_t(peer)])});
  }
  return windows;
}

}  // namespace

LoopbackHub::Shared::Shared(int ranks, const LoopbackOptions& o) : options(o) {
  const auto count = static_cast<std::uint32_t>(ranks);
  for (std::uint32_t r = 0; r < count; ++r) {
    inboxes.push_back(std::make_unique<Inbox>());
    places.push_back({.node = options.nodes.empty() ? r : options.nodes.at(r),
                      .numa_domain = Core::unknown,
                      .job = {.rank = r, .ranks = count},
                      .threads = own_threads(),
                      .given = topology_of_environment({.rank = r, .ranks = count})});
  }
  if (!options.node_windows) return;
  const RankGroups nodes = nodes_of(places);
  for (const std::uint32_t node : nodes.of_rank)
    windows.push_back(std::make_shared<NodeWindow>(nodes.ranks_of(node).size()));
}

LoopbackHub::LoopbackHub(int ranks, const LoopbackOptions& options)
    : shared_(std::make_shared<Shared>(ranks, options)) {}
LoopbackHub::~LoopbackHub() = default;

std::shared_ptr<Transport> LoopbackHub::transport(int rank) {
  auto transport = std::make_shared<LoopbackTransport>(shared_, rank);
  if (shared_->windows.empty()) return transport;
  return std::make_shared<NodeTransport>(std::move(transport), windows_of(*shared_, rank));
}

std::shared_ptr<Aggregator> LoopbackHub::native_reductions(int rank) {
  return make_loopback_aggregator(shared_, rank, false);
}

std::shared_ptr<Aggregator> LoopbackHub::network(int rank) {
  return make_loopback_aggregator(shared_, rank, true);
}

std::shared_ptr<NativeSums> LoopbackHub::native_sums(int rank) {
  return make_loopback_sums(shared_, rank);
}

std::size_t LoopbackHub::native_sums_that_blocked() const { return shared_->native_blocked; }

Communicator LoopbackHub::communicator(int rank) {
  auto attached = network(rank);
  const auto connect = [attached](const std::string& address) {
    if (address != "loopback")
      throw Error(ErrorKind::invalid_argument,
                  "aggregator " + address + " is unknown; the only one is loopback");
    return attached;
  };
  return Communicator(transport(rank), {.fabric = native_reductions(rank),
                                        .attached = attached,
                                        .connect = connect,
                                        .native = native_sums(rank)});
}

}  // namespace cohom
