#pragma once
// MpiTransport: cohom's messages over MPI's.

#include "mpi_ext/base/owned_comm.hpp"
#include "transport/transport_base.hpp"

#include <cohom/transport.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cohom::mpi {

class OpenRequests;

/// The tag of an MPI message is (channel number) * Transport::tag_limit + (tag): calls in flight
/// share one communicator and do not mix. Only the thread that calls in here calls MPI, so programs
/// with MPI_THREAD_SINGLE work.
class MpiTransport final : public TransportBase {
 public:
  /// Best message over a network: ob1 of Open MPI sends up to 64 KiB, its header included, without
  /// waiting for the receiver, and a pipeline of such messages fills a TCP link.
  static constexpr std::size_t network_message_bytes = 56 << 10;
  /// Best message in shared memory, where one copy moves a large message whole: from 64 KiB to 2
  /// MiB all are alike, and what arrived should still be in a core's cache when it is merged.
  static constexpr std::size_t shared_memory_message_bytes = 256 << 10;

  /// Channels at most; fewer where MPI has few tags.
  static constexpr std::uint32_t max_channels = 256;

  /// Collective. @throws Error on all ranks alike when COHOM_MESSAGE_BYTES is wrong on any rank or
  /// differs.
  explicit MpiTransport(OwnedComm comm);
  /// The same over a duplicate of `comm`.
  explicit MpiTransport(MPI_Comm comm) : MpiTransport(OwnedComm(comm)) {}
  ~MpiTransport() override;

  [[nodiscard]] std::string_view name() const override { return "mpi"; }
  [[nodiscard]] bool reaches(MemorySpace space) const override {
    return space != MemorySpace::cuda;
  }
  [[nodiscard]] std::uint32_t channels() const override { return channels_; }
  [[nodiscard]] std::string why_not_in_own_thread() const override;
  void check_thread() const override;
  std::unique_ptr<Channel> open(std::uint32_t number) override;

 private:
  friend class MpiChannel;

  [[nodiscard]] std::unique_ptr<OpenRequests> take_requests();
  void give_back(std::unique_ptr<OpenRequests> requests) noexcept;

  OwnedComm comm_;
  std::uint32_t channels_ = 0;
  std::vector<std::unique_ptr<OpenRequests>> idle_requests_;  ///< of channels that are closed
};

}  // namespace cohom::mpi
