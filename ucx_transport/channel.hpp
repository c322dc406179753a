#pragma once
// UcxChannel: the messages of one call in flight over UCX.

#include "transport/completion_queue.hpp"
#include "transport/transport_base.hpp"
#include "ucx_transport/operation.hpp"
#include "ucx_transport/transport.hpp"

#include <cohom/error.hpp>
#include <cohom/transport.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cohom::ucx {

class UcxChannel final : public ChannelBase {
 public:
  /// `transport` must outlive the channel.
  UcxChannel(UcxTransport& transport, std::uint32_t number);
  /// Normally nothing is open. After an error: receives are cancelled, those that have met a
  /// message are waited for, and sends get a short time to complete.
  ~UcxChannel() override;
  UcxChannel(const UcxChannel&) = delete;
  UcxChannel& operator=(const UcxChannel&) = delete;

  void send(std::span<const std::byte> data, int peer, std::uint32_t tag,
            std::uint64_t cookie) override;
  void receive(std::span<std::byte> buffer, int peer, std::uint32_t tag,
               std::uint64_t cookie) override;
  /// @throws Error(transport) when a message failed, or a rank is gone that a message is to come
  /// from.
  std::size_t poll(std::span<Completion> out) override;
  /// UCX completes a short send over a network when it has copied it, which may be before the
  /// socket took it, and a long receive before its sender knows. So a flush message goes behind
  /// such messages.
  bool flushed() override;

 private:
  bool advance() noexcept override;
  void cancel_receives() noexcept override;
  [[nodiscard]] bool uses_memory() const noexcept override;
  [[nodiscard]] bool is_being_written_to() const noexcept override;

  static void on_sent(void* request, ucs_status_t status, void* operation);
  static void on_received(void* request, ucs_status_t status, const ucp_tag_recv_info_t* info,
                          void* operation);

  // All of these want the worker's lock.
  Operation& start(OperationKind kind, int peer, const Completion& completion);
  void started(Operation& operation, void* request);
  static void complete(Operation& operation, ucs_status_t status, std::size_t bytes);
  void note(const Operation& operation, ucs_status_t status, std::size_t bytes);
  void close(Operation& operation);
  void count_send(int peer);
  bool peer_is_flushed(int peer);
  void throw_failure();
  void expect_reachable(int peer);

  UcxTransport& transport_;
  Worker& worker_;
  std::uint32_t number_;
  std::vector<Operation*> pending_;
  CompletionQueue ready_;
  std::vector<std::uint64_t>
      unflushed_;                    ///< by rank: the last send that needs a flush message; 0: none
  std::vector<int> unflushed_list_;  ///< the ranks of unflushed_
  std::size_t failures_seen_;
  std::optional<Error> failure_;
  bool closing_ = false;  ///< failures are no news any more
};

}  // namespace cohom::ucx
