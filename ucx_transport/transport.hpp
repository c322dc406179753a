#pragma once
// UcxTransport: cohom's messages over UCX's tagged ones.

#include "topology/rank_place.hpp"
#include "transport/transport_base.hpp"
#include "ucx_transport/endpoint.hpp"
#include "ucx_transport/memory.hpp"
#include "ucx_transport/worker.hpp"

#include <cohom/transport.hpp>
#include <cohom/ucx.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace cohom::ucx {

/// A tag of UCX has 64 bits: the receiver's number of the group (20), channel (8), sender (16) and
/// tag (20). Every rank numbers its groups by itself, so no agreement on numbers is needed.
class UcxTransport final : public TransportBase {
 public:
  /// Best message over TCP: the next one leaves while a receiver looks at this one.
  static constexpr std::size_t tcp_message_bytes = 56 << 10;
  /// Best message where the receiver reads from the sender's memory: whatever arrived should still
  /// be in a core's cache when it is merged.
  static constexpr std::size_t memory_message_bytes = 256 << 10;
  /// Least message between devices: shorter ones spend their time on starting copies.
  static constexpr std::size_t device_message_bytes = 4 << 20;

  /// Collective. `worker` is called once. @throws what ucx::transport() does.
  UcxTransport(const std::function<std::shared_ptr<Worker>()>& worker, int rank, int ranks,
               const Exchange& exchange, const JobRank& job);
  /// The same where the ranks are a whole job.
  UcxTransport(const std::function<std::shared_ptr<Worker>()>& worker, int rank, int ranks,
               const Exchange& exchange)
      : UcxTransport(worker, rank, ranks, exchange,
                     {.rank = static_cast<std::uint32_t>(rank),
                      .ranks = static_cast<std::uint32_t>(ranks)}) {}
  /// Local. The channels are gone.
  ~UcxTransport() override;
  UcxTransport(const UcxTransport&) = delete;
  UcxTransport& operator=(const UcxTransport&) = delete;

  [[nodiscard]] std::string_view name() const override { return "ucx"; }
  [[nodiscard]] bool reaches(MemorySpace space) const override;
  [[nodiscard]] std::size_t preferred_device_message_bytes() const override {
    return device_message_bytes_;
  }
  [[nodiscard]] std::string_view device_path() const override { return device_path_; }
  [[nodiscard]] std::unique_ptr<Registration> register_memory(std::span<std::byte> memory,
                                                              MemorySpace space) override;
  [[nodiscard]] std::uint32_t channels() const override { return channel_limit; }
  std::unique_ptr<Channel> open(std::uint32_t number) override;

 private:
  friend class UcxChannel;

  static constexpr std::uint32_t channel_limit = 256;

  struct Peer {
    std::uint64_t worker = 0;
    std::uint32_t group = 0;
    std::vector<std::byte> address = {};
    std::shared_ptr<Endpoint> endpoint = {};  ///< null until there is a message
  };

  /// With the worker's lock. @throws Error(transport)
  Endpoint& endpoint_of(int peer);
  /// Of a message from `sender` to `receiver`.
  [[nodiscard]] ucp_tag_t tag(std::uint32_t channel, std::uint32_t tag, int sender,
                              int receiver) const;
  /// @returns COHOM_MESSAGE_BYTES; 0: not set.
  std::size_t introduce(const std::function<std::shared_ptr<Worker>()>& worker,
                        const Exchange& exchange, const JobRank& job);
  [[nodiscard]] Path agree_on_path(const Exchange& exchange);

  std::shared_ptr<Worker> worker_;
  std::uint32_t group_ = 0;
  std::size_t device_message_bytes_ = 0;
  std::string_view device_path_ = "cuda_copy";
  std::vector<Peer> peers_;  ///< by rank, this one included
  std::shared_ptr<MemoryTable> memory_ = std::make_shared<MemoryTable>();
};

}  // namespace cohom::ucx
