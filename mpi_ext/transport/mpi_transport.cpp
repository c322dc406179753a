#include "mpi_ext/transport/mpi_transport.hpp"

#include "mpi_ext/base/callable.hpp"
#include "mpi_ext/base/mpi_agreement.hpp"
#include "mpi_ext/base/mpi_check.hpp"
#include "mpi_ext/transport/mpi_channel.hpp"
#include "mpi_ext/transport/open_requests.hpp"
#include "topology/rank_place.hpp"
#include "topology/topology_of.hpp"
#include "transport/exchange.hpp"
#include "transport/message_bytes.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace cohom::mpi {

namespace {

/// Channels that fit below MPI's largest tag, which MPI_COMM_WORLD knows (other communicators need
/// not). MPI promises only 32767; most have 2^31 - 1.
std::uint32_t channels_that_fit() {
  int* max_tag = nullptr;
  int found = 0;
  check(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&max_tag), &found),
        "MPI_Comm_get_attr");
  const std::uint32_t tags = found != 0 ? static_cast<std::uint32_t>(*max_tag) + 1u : 32768u;
  const std::uint32_t channels = std::min(tags / Transport::tag_limit, MpiTransport::max_channels);
  if (channels == 0)
    throw Error(ErrorKind::unsupported, "this MPI has " + std::to_string(tags) +
                                            " tags; cohom needs at least " +
                                            std::to_string(Transport::tag_limit));
  return channels;
}

/// The lowest of the ranks that this one can share memory with, as MPI sees it. Collective.
int lowest_rank_of_node(MPI_Comm comm, int rank) {
  MPI_Comm node = MPI_COMM_NULL;
  check(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node),
        "MPI_Comm_split_type");
  int lowest = rank;
  const int code = MPI_Bcast(&lowest, 1, MPI_INT, 0, node);
  MPI_Comm_free(&node);
  check(code, "MPI_Bcast");
  return lowest;
}

std::shared_ptr<const Topology> agreed_topology(const OwnedComm& comm) {
  const int rank = comm.rank();
  const auto node = static_cast<std::uint64_t>(lowest_rank_of_node(comm.get(), rank));
  const Exchange exchange = [&](std::span<const std::byte> bytes) {
    return gather_bytes(comm.get(), bytes);
  };
  const auto places =
      cohom::tell_all(exchange, [&] { return to_bytes(own_place(job_rank(), node)); });
  return topology_of_told(places, static_cast<std::size_t>(rank));
}

/// 0 when the variable is not set.
std::size_t agreed_message_bytes(MPI_Comm comm) {
  const auto by_rank = tell_all(comm, [] { return message_bytes_of_environment(); });
  expect_same_message_bytes(by_rank);
  return by_rank[0];
}

}  // namespace

MpiTransport::MpiTransport(OwnedComm comm)
    : TransportBase(comm.rank(), comm.ranks()),
      comm_(std::move(comm)),
      channels_(channels_that_fit()) {
  const std::size_t bytes = agreed_message_bytes(comm_.get());
  set_topology(agreed_topology(comm_));
  set_message_bytes(bytes != 0                     ? bytes
                    : topology()->nodes.count == 1 ? shared_memory_message_bytes
                                                   : network_message_bytes);
}

MpiTransport::~MpiTransport() = default;

std::string MpiTransport::why_not_in_own_thread() const { return why_not_at_once(); }

void MpiTransport::check_thread() const { check_calling_thread(); }

std::unique_ptr<Channel> MpiTransport::open(std::uint32_t number) {
  check_thread();
  return std::make_unique<MpiChannel>(*this, number * tag_limit);
}

std::unique_ptr<OpenRequests> MpiTransport::take_requests() {
  if (idle_requests_.empty()) {
    idle_requests_.reserve(channels_);  // so that give_back() cannot fail
    return std::make_unique<OpenRequests>();
  }
  auto requests = std::move(idle_requests_.back());
  idle_requests_.pop_back();
  return requests;
}

void MpiTransport::give_back(std::unique_ptr<OpenRequests> requests) noexcept {
  if (idle_requests_.size() < idle_requests_.capacity())
    idle_requests_.push_back(std::move(requests));
}

}  // namespace cohom::mpi
