#include "ucx_transport/transport.hpp"

#include "base/log.hpp"
#include "topology/node_identity.hpp"
#include "topology/topology_of.hpp"
#include "transport/exchange.hpp"
#include "transport/message_bytes.hpp"
#include "ucx_transport/channel.hpp"
#include "ucx_transport/handshake.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace cohom::ucx {

namespace {

constexpr int tag_bits = 20;
constexpr int sender_bits = 16;
constexpr int channel_bits = 8;
static_assert(Transport::tag_limit == 1u << tag_bits);
static_assert(Worker::groups == 1u << (64 - tag_bits - sender_bits - channel_bits));

}  // namespace

UcxTransport::UcxTransport(const std::function<std::shared_ptr<Worker>()>& worker, int rank,
                           int ranks, const Exchange& exchange, const JobRank& job)
    : TransportBase(rank, ranks) {
  std::size_t bytes = introduce(worker, exchange, job);
  const Path path = agree_on_path(exchange);
  device_message_bytes_ = bytes != 0 ? bytes : device_message_bytes;
  if (bytes == 0) bytes = path == Path::tcp ? tcp_message_bytes : memory_message_bytes;
  set_message_bytes(bytes);
  log_once_for_all(rank, "transport ucx: UCX " + version() + ", " + std::to_string(ranks) +
                             " ranks, " + std::string(name_of(path)) + ", messages of " +
                             std::to_string(bytes) + " bytes");
}

UcxTransport::~UcxTransport() {
  if (!worker_) return;
  const auto lock = worker_->lock();
  worker_->give_back_group(group_);
}

/// Learns how to reach the others and where they are, and that COHOM_MESSAGE_BYTES is one number.
std::size_t UcxTransport::introduce(const std::function<std::shared_ptr<Worker>()>& worker,
                                    const Exchange& exchange, const JobRank& job) {
  const auto all = tell_all(exchange, [&] {
    const std::size_t message_bytes = message_bytes_of_environment();
    auto place = to_bytes(own_place(job, node_identity()));
    auto own = worker();
    const auto lock = own->lock();
    auto address = own->address();
    group_ = own->take_group();
    worker_ = own;
    return to_bytes({.worker = worker_->id(),
                     .message_bytes = message_bytes,
                     .group = group_,
                     .place = std::move(place),
                     .address = std::move(address)});
  });
  if (all.size() != static_cast<std::size_t>(ranks()))
    throw Error(ErrorKind::transport, "the exchange gave " + std::to_string(all.size()) +
                                          " messages for " + std::to_string(ranks()) + " ranks");
  std::vector<std::uint64_t> message_bytes;
  std::vector<std::vector<std::byte>> places;
  for (const auto& bytes : all) {
    Introduction peer = introduction_of(bytes);
    message_bytes.push_back(peer.message_bytes);
    places.push_back(std::move(peer.place));
    peers_.push_back(
        {.worker = peer.worker, .group = peer.group, .address = std::move(peer.address)});
  }
  expect_same_message_bytes(message_bytes);
  set_topology(topology_of_told(places, static_cast<std::size_t>(rank())));
  return message_bytes[0];
}

/// Where ranks are on several hosts, some neighbours are: so every rank asks UCX about one path,
/// and the worst of all counts for all.
Path UcxTransport::agree_on_path(const Exchange& exchange) {
  const auto all = tell_all(exchange, [&] {
    const int right = (rank() + 1) % ranks();
    const auto lock = worker_->lock();
    const Endpoint& endpoint = endpoint_of(right);
    log_once("transport ucx: rank " + std::to_string(rank()) + " reaches rank " +
             std::to_string(right) + " by " + endpoint.path_text());
    device_path_ = device_path_by(endpoint.path_text());
    return std::vector{static_cast<std::byte>(endpoint.path())};
  });
  Path worst = Path::memory;
  for (const auto& path : all) {
    if (path.size() != 1)
      throw Error(ErrorKind::transport, "ranks run different versions of cohom");
    worst = std::max(worst, static_cast<Path>(path[0]));
  }
  return worst;
}

bool UcxTransport::reaches(MemorySpace space) const { return worker_->context().reaches(space); }

std::unique_ptr<Registration> UcxTransport::register_memory(std::span<std::byte> memory,
                                                            MemorySpace space) {
  if (memory.empty()) return nullptr;
  return std::make_unique<UcxRegistration>(worker_, memory_, memory, space);
}

std::unique_ptr<Channel> UcxTransport::open(std::uint32_t number) {
  return std::make_unique<UcxChannel>(*this, number);
}

Endpoint& UcxTransport::endpoint_of(int peer) {
  Peer& other = peers_[static_cast<std::size_t>(peer)];
  if (!other.endpoint) other.endpoint = worker_->connect(other.worker, other.address);
  return *other.endpoint;
}

ucp_tag_t UcxTransport::tag(std::uint32_t channel, std::uint32_t tag, int sender,
                            int receiver) const {
  std::uint64_t bits = peers_[static_cast<std::size_t>(receiver)].group;
  bits = bits << channel_bits | channel;
  bits = bits << sender_bits | static_cast<std::uint64_t>(sender);
  return bits << tag_bits | tag;
}

std::shared_ptr<Transport> transport(int rank, int ranks, const Exchange& exchange) {
  return std::make_shared<UcxTransport>(Worker::of_process, rank, ranks, exchange);
}

}  // namespace cohom::ucx
