#include "mpi_ext/transport/mpi_channel.hpp"

#include "mpi_ext/base/callable.hpp"
#include "mpi_ext/base/mpi_check.hpp"

#include <chrono>
#include <climits>
#include <string>
#include <utility>

namespace cohom::mpi {

namespace {

using namespace std::chrono_literals;
constexpr auto patience = 500ms;

int message_size(std::size_t bytes) {
  if (bytes > static_cast<std::size_t>(INT_MAX))
    throw Error(ErrorKind::transport, "a message of " + std::to_string(bytes) +
                                          " bytes; MPI takes at most " + std::to_string(INT_MAX));
  return static_cast<int>(bytes);
}

}  // namespace

MpiChannel::MpiChannel(MpiTransport& transport, std::uint32_t first_tag)
    : ChannelBase(transport, patience),
      transport_(transport),
      first_tag_(first_tag),
      requests_(transport.take_requests()) {}

MpiChannel::~MpiChannel() {
  end();
  requests_->abandon();
  transport_.give_back(std::move(requests_));
}

bool MpiChannel::advance() noexcept { return requests_->advance(); }
void MpiChannel::cancel_receives() noexcept { requests_->cancel_receives(); }
/// MPI_Finalize ends all messages.
bool MpiChannel::uses_memory() const noexcept { return !requests_->empty() && usable(); }
bool MpiChannel::is_being_written_to() const noexcept { return requests_->has_receives(); }

int MpiChannel::mpi_tag(std::uint32_t tag) const {
  expect_tag(tag);
  return static_cast<int>(first_tag_ + tag);
}

void MpiChannel::send(std::span<const std::byte> data, int peer, std::uint32_t tag,
                      std::uint64_t cookie) {
  const int bytes = message_size(data.size());
  const MpiUse use;
  requests_->reserve();
  MPI_Request request = MPI_REQUEST_NULL;
  check(
      MPI_Isend(data.data(), bytes, MPI_BYTE, peer, mpi_tag(tag), transport_.comm_.get(), &request),
      "MPI_Isend");
  requests_->add(request, {.cookie = cookie, .bytes = data.size()}, false);
  count_sent(peer, data.size());
}

void MpiChannel::receive(std::span<std::byte> buffer, int peer, std::uint32_t tag,
                         std::uint64_t cookie) {
  const int bytes = message_size(buffer.size());
  const MpiUse use;
  requests_->reserve();
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Irecv(buffer.data(), bytes, MPI_BYTE, peer, mpi_tag(tag), transport_.comm_.get(),
                  &request),
        "MPI_Irecv");
  requests_->add(request, {.cookie = cookie, .bytes = buffer.size()}, true);
}

std::size_t MpiChannel::poll(std::span<Completion> out) {
  const MpiUse use;
  if (requests_->empty()) make_progress();
  return requests_->poll(out);
}

/// With no message of ours open nobody else may call MPI in this thread, and a user's own messages
/// wait for that: another rank may have to take one before it comes to this call.
void MpiChannel::make_progress() const {
  int found = 0;
  check(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, transport_.comm_.get(), &found, MPI_STATUS_IGNORE),
        "MPI_Iprobe");
}

}  // namespace cohom::mpi
