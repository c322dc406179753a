#include "aggregation/protocol/connection.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace cohom::offload {

void Connection::send(const Message& message) {
  outgoing_ += encode(message);
  write();
}

void Connection::write() {
  while (is_open() && !outgoing_.empty()) {
    const ssize_t sent =
        ::send(socket_.get(), outgoing_.data(), outgoing_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) continue;
      // A connection that broke says so to read(), too.
      if (errno != EAGAIN && errno != ENOTCONN) outgoing_.clear();
      return;
    }
    outgoing_.erase(0, static_cast<std::size_t>(sent));
  }
}

bool Connection::read() {
  std::array<char, 4096> bytes{};
  // Not for ever, whatever the other end sends.
  for (std::size_t i = 0; i < max_read_bytes / bytes.size() && is_open(); ++i) {
    const ssize_t received = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (received > 0) {
      reader_.append({bytes.data(), static_cast<std::size_t>(received)});
      if (static_cast<std::size_t>(received) < bytes.size()) return true;
      continue;
    }
    if (received < 0 && errno == EINTR) continue;
    return received < 0 && errno == EAGAIN;
  }
  return is_open();
}

bool Connection::hung_up() const {
  pollfd other_end{socket_.get(), POLLRDHUP, 0};
  return ::poll(&other_end, 1, 0) > 0;
}

}  // namespace cohom::offload
