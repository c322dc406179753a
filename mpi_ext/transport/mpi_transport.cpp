#include "mpi_ext/transport/mpi_transport.hpp"

#include "mpi_ext/base/callable.hpp"
#include "mpi_ext/base/mpi_agreement.hpp"
#include "mpi_ext/base/mpi_check.hpp"
#include "mpi_ext/transport/mpi_channel.hpp"
#include "mpi_ext/transport/open_requests.hpp"
#include "transport/message_bytes.hpp"

#include <algorithm>
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

/// The same answer on all ranks: either all share one host's memory, or none does with all others.
bool on_one_host(MPI_Comm comm, int rank, int ranks) {
  MPI_Comm host = MPI_COMM_NULL;
  check(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host),
        "MPI_Comm_split_type");
  int neighbours = 0;
  MPI_Comm_size(host, &neighbours);
  MPI_Comm_free(&host);
  return neighbours == ranks;
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
  std::size_t bytes = agreed_message_bytes(comm_.get());
  if (bytes == 0)
    bytes = on_one_host(comm_.get(), rank(), ranks()) ? shared_memory_message_bytes
                                                      : network_message_bytes;
  set_message_bytes(bytes);
}

MpiTransport::~MpiTransport() = default;

std::unique_ptr<Channel> MpiTransport::open(std::uint32_t number) {
  check_calling_thread();
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
