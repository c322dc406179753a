#pragma once
// MpiTransport: cohom's messages over MPI's.

#include "owned_comm.hpp"

#include <cohom/transport.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace cohom::mpi {

/// The tag of an MPI message is (channel number) * Transport::tag_limit + (tag): calls in flight
/// share one communicator and do not mix. Only the thread that calls in here calls MPI, so programs
/// with MPI_THREAD_SINGLE work.
class MpiTransport final : public Transport {
 public:
  /// Best message over a network: ob1 of Open MPI sends up to 64 KiB, its header included, without
  /// waiting for the receiver, and a pipeline of such messages fills a TCP link.
  static constexpr std::size_t network_message_bytes = 56 << 10;
  /// Best message in shared memory, where one copy moves a large message whole: from 64 KiB to 2 MiB
  /// all are alike, and what arrived should still be in a core's cache when it is merged.
  static constexpr std::size_t shared_memory_message_bytes = 256 << 10;

  /// Duplicates `comm`. Collective. @throws Error on all ranks alike when COHOM_MESSAGE_BYTES is
  /// wrong on any rank or differs.
  explicit MpiTransport(MPI_Comm comm);
  ~MpiTransport() override;

  [[nodiscard]] std::string_view name() const override { return "mpi"; }
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int ranks() const override { return ranks_; }
  [[nodiscard]] std::size_t preferred_message_bytes() const override { return message_bytes_; }
  [[nodiscard]] bool reaches(MemorySpace space) const override {
    return space != MemorySpace::cuda;
  }
  /// @throws Error(transport) once a channel was destroyed with a message that no peer took: MPI
  /// may still read the memory it lay in, and a later call could take it for its own.
  std::unique_ptr<Channel> open(std::uint32_t number) override;
  [[nodiscard]] WireCounters counters() const override { return counters_; }

 private:
  friend class MpiChannel;

  OwnedComm comm_;
  int rank_ = 0;
  int ranks_ = 1;
  std::uint32_t channels_ = channel_limit;
  std::size_t message_bytes_ = 0;
  bool message_left_behind_ = false;
  WireCounters counters_;
};

}  // namespace cohom::mpi
