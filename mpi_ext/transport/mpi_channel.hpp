#pragma once
// MpiChannel: the messages of one call in flight over MPI.

#include "base/free_list.hpp"
#include "mpi_ext/transport/mpi_transport.hpp"
#include "mpi_ext/transport/open_requests.hpp"
#include "transport/transport_base.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace cohom::mpi {

class MpiChannel final : public ChannelBase, public Recycled<MpiChannel> {
 public:
  /// `transport` must outlive the channel.
  MpiChannel(MpiTransport& transport, std::uint32_t first_tag);
  /// Normally nothing is open. After an error: receives are cancelled, those that have met a
  /// message are waited for, and sends get a short time to complete.
  ~MpiChannel() override;

  /// @throws Error(transport) when the message has more bytes than an int can count, as MPI wants
  /// it; or of MPI itself. The same holds for receive().
  void send(std::span<const std::byte> data, int peer, std::uint32_t tag,
            std::uint64_t cookie) override;
  void receive(std::span<std::byte> buffer, int peer, std::uint32_t tag,
               std::uint64_t cookie) override;
  std::size_t poll(std::span<Completion> out) override;

 private:
  bool advance() noexcept override;
  void cancel_receives() noexcept override;
  [[nodiscard]] bool uses_memory() const noexcept override;
  [[nodiscard]] bool is_being_written_to() const noexcept override;
  void make_progress() const;
  [[nodiscard]] int mpi_tag(std::uint32_t tag) const;

  MpiTransport& transport_;
  std::uint32_t first_tag_;
  std::unique_ptr<OpenRequests> requests_;
};

}  // namespace cohom::mpi
