#include "mpi_transport.hpp"

#include "mpi_channel.hpp"
#include "mpi_check.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>

namespace cohom::mpi {

namespace {

constexpr const char* message_bytes_variable = "COHOM_MESSAGE_BYTES";
constexpr std::uint64_t least_message_bytes = 64;
constexpr std::uint64_t most_message_bytes = 1u << 30;

/// Channels that fit below MPI's largest tag, which MPI_COMM_WORLD knows (other communicators need
/// not). MPI promises only 32767; most have 2^31 - 1.
std::uint32_t channels_that_fit() {
  int* largest_tag = nullptr;
  int found = 0;
  check(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&largest_tag), &found),
        "MPI_Comm_get_attr");
  const std::uint32_t tags = found != 0 ? static_cast<std::uint32_t>(*largest_tag) + 1u : 32768u;
  const std::uint32_t channels = std::min(tags / Transport::tag_limit, Transport::channel_limit);
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

/// 0 when the variable is not set, nothing when it is wrong.
std::optional<std::uint64_t> message_bytes_of_environment() {
  const char* text = std::getenv(message_bytes_variable);
  if (text == nullptr || *text == '\0') return 0;
  const std::string_view digits = text;
  std::uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), bytes);
  if (error != std::errc() || end != digits.end() || bytes < least_message_bytes ||
      bytes > most_message_bytes || bytes % 8 != 0)
    return std::nullopt;
  return bytes;
}

/// Both ends of a message must cut payloads alike, so the ranks must agree on the variable. 0: unset.
std::size_t agreed_message_bytes(MPI_Comm comm) {
  const auto mine = message_bytes_of_environment();
  std::uint64_t most[3] = {mine ? 0u : 1u, mine.value_or(0), ~mine.value_or(0)};
  check(MPI_Allreduce(MPI_IN_PLACE, most, 3, MPI_UINT64_T, MPI_MAX, comm), "MPI_Allreduce");
  const std::string variable = message_bytes_variable;
  if (!mine)
    throw Error(ErrorKind::invalid_argument,
                variable + "=" + std::getenv(message_bytes_variable) +
                    " is not a size of messages; allowed: multiples of 8 from " +
                    std::to_string(least_message_bytes) + " to " +
                    std::to_string(most_message_bytes));
  if (most[0] != 0) throw Error(ErrorKind::peer, variable + " is wrong on another rank");
  if (most[1] != ~most[2])
    throw Error(ErrorKind::mismatch, variable + " differs between ranks: from " +
                                         std::to_string(~most[2]) + " to " +
                                         std::to_string(most[1]) + " (0: not set)");
  return static_cast<std::size_t>(*mine);
}

}  // namespace

MpiTransport::MpiTransport(MPI_Comm comm)
    : comm_(comm), rank_(comm_.rank()), ranks_(comm_.ranks()) {
  channels_ = channels_that_fit();
  message_bytes_ = agreed_message_bytes(comm_.get());
  if (message_bytes_ == 0)
    message_bytes_ = on_one_host(comm_.get(), rank_, ranks_) ? shared_memory_message_bytes
                                                             : network_message_bytes;
}

MpiTransport::~MpiTransport() = default;

std::unique_ptr<Channel> MpiTransport::open(std::uint32_t number) {
  if (message_left_behind_)
    throw Error(ErrorKind::transport,
                "an earlier call on this communicator failed and left messages that no rank took");
  return std::make_unique<MpiChannel>(*this, number % channels_ * tag_limit);
}

}  // namespace cohom::mpi
