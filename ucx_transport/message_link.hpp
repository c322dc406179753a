#pragma once
// MessageLink: active messages to one other process, for words that are summed by an aggregator.

#include "ucx_transport/worker.hpp"

#include "aggregation/protocol/packet.h"

#include <cohom/promotion.hpp>

#include <ucp/api/ucp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cohom::ucx {

/// A message begins as a packet does. That of a narrow contribution, whose words say how many there
/// will be in the sum, goes on:
struct NarrowHeader {
  cohom_header message{};
  std::uint8_t narrow_width = 0;  ///< and so on: see Promotion
  std::uint8_t wide_width = 0;
  std::uint8_t has_levels = 0;
  std::uint8_t unused = 0;
  std::uint32_t block = 0;
  std::array<std::uint8_t, 16> levels{};
};
static_assert(sizeof(NarrowHeader) == 88, "eleven words without gaps");

/// Who takes messages. Its functions are called in Worker::progress().
class MessageReceiver {
 public:
  virtual ~MessageReceiver() = default;
  /// `data` need not be aligned, and is gone afterwards.
  virtual void take(const cohom_header& header, std::span<const std::byte> data) noexcept = 0;
  /// The same for a narrow contribution.
  virtual void take_narrow(const cohom_header& /*header*/, const Promotion& /*promotion*/,
                           std::span<const std::byte> /*data*/) noexcept {
    take_garbage();
  }
  /// Something came that is no message.
  virtual void take_garbage() noexcept {}
};
/// The receiver outlives the worker's progress.
void receive_messages(Worker& worker, MessageReceiver& receiver);

/// Everything wants the worker's lock, or to be its only user.
class MessageLink {
 public:
  /// `address` is the other worker's. @throws Error(transport)
  MessageLink(Worker& worker, std::span<const std::byte> address);
  /// What is under way fails, and no memory is read any more.
  ~MessageLink();
  MessageLink(const MessageLink&) = delete;
  MessageLink& operator=(const MessageLink&) = delete;

  /// Starts sending, without waiting for the receiver and from where the words are. `keep` is held
  /// until they have left. `open` is one more until then; it may be null.
  void send(const cohom_header& header, std::span<const std::byte> data,
            std::shared_ptr<const void> keep = {}, std::size_t* pending = nullptr,
            const Promotion* promotion = nullptr);

  /// UCS_OK as long as the other process can be reached.
  [[nodiscard]] ucs_status_t failure() const;
  /// What has not left yet: messages, and the bytes of their words.
  [[nodiscard]] std::size_t queued_messages() const { return pending_.size(); }
  [[nodiscard]] std::size_t queued_bytes() const { return queued_bytes_; }
  [[nodiscard]] const std::string& path_text() const { return endpoint_->path_text(); }

 private:
  struct Operation {
    MessageLink* link = nullptr;  ///< null once it is gone
    NarrowHeader header;          ///< of other messages the first part
    std::shared_ptr<const void> keep;
    std::size_t* pending = nullptr;
    std::size_t place = 0;  ///< in pending_
    std::size_t bytes = 0;
  };
  static void on_sent(void* request, ucs_status_t status, void* operation);
  void close(Operation& operation, ucs_status_t status);

  Worker& worker_;
  std::unique_ptr<Endpoint> endpoint_;
  std::vector<std::unique_ptr<Operation>> pending_, idle_;
  std::size_t queued_bytes_ = 0;
  ucs_status_t failure_ = UCS_OK;  ///< of a message
};

}  // namespace cohom::ucx
