#pragma once
// Connection: one end of a control channel. Does not block.

#include "aggregation/protocol/control_message.hpp"
#include "base/file_descriptor.hpp"

#include <optional>
#include <string>

namespace cohom::offload {

class Connection {
 public:
  Connection() = default;
  Connection(FileDescriptor socket, std::size_t max_incoming_bytes)
      : socket_(std::move(socket)), reader_(max_incoming_bytes) {}

  [[nodiscard]] int descriptor() const { return socket_.get(); }
  [[nodiscard]] bool is_open() const { return socket_.is_open(); }
  /// Whether there is something that the socket has not taken yet.
  [[nodiscard]] bool wants_to_write() const { return !outgoing_.empty(); }

  /// Queues a message and sends what the socket takes.
  void send(const Message& message);
  void write();
  /// Takes what has arrived, max_read_bytes at most; false: the other end has closed, or the
  /// connection is broken.
  bool read();
  /// @throws Error(transport) for bytes that are no message.
  std::optional<Message> next() { return reader_.next(); }
  /// Whether the other end has closed, without taking what it sent before.
  [[nodiscard]] bool hung_up() const;
  void close() { socket_.reset(); }

 private:
  FileDescriptor socket_;
  MessageReader reader_{max_message_bytes};
  std::string outgoing_;
};

}  // namespace cohom::offload
