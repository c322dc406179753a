#pragma once
// What tests of the control channel call a server with, and the server's data plane.

#include "aggregation/protocol/connection.hpp"
#include "aggregation/protocol/handshake.hpp"
#include "host_plane.hpp"
#include "job_keys.hpp"
#include "offload_load.hpp"
#include "offload_switch.hpp"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace cohom::offload {

using test::Switch;
using test::wait_for;

inline std::unique_ptr<DataPlane> plane() { return test::make_host_plane({}); }

/// A client that says what the test wants.
class Caller {
 public:
  /// `buffer` bytes or so are what its socket takes for each direction; 0: what the system gives.
  explicit Caller(std::uint16_t port, const char* source = "127.0.0.1", int buffer = 0)
      : connection_(connected(port, source, buffer), max_message_bytes) {}

  void send(const Message& message) { connection_.send(message); }
  /// Sends the same message again and again, and reads nothing, until the server takes no more for
  /// so long, or has taken `most` bytes; how many it has taken.
  std::size_t flood(const Message& message, std::size_t most, std::chrono::milliseconds patience) {
    std::string bytes;
    for (const std::string one = encode(message); bytes.size() < 1 << 16;) bytes += one;
    std::size_t taken = 0;
    pollfd waiting{connection_.descriptor(), POLLOUT, 0};
    while (taken<most&& ::poll(&waiting, 1, static_cast<int>(patience.count()))> 0) {
      const std::size_t from = taken % bytes.size();
      const ssize_t sent = ::send(connection_.descriptor(), bytes.data() + from,
                                  bytes.size() - from, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0) break;
      taken += static_cast<std::size_t>(sent);
    }
    return taken;
  }
  /// None: the server has closed, or says nothing for so long.
  std::optional<Message> next(std::chrono::milliseconds patience = std::chrono::seconds{5}) {
    const auto end = std::chrono::steady_clock::now() + patience;
    bool alive = true;
    while (true) {
      if (auto message = connection_.next()) return message;
      if (!alive || std::chrono::steady_clock::now() > end) return std::nullopt;
      pollfd waiting{connection_.descriptor(), POLLIN, 0};
      if (::poll(&waiting, 1, 10) > 0) alive = connection_.read();
    }
  }
  template <class T>
  std::optional<T> expect(std::chrono::milliseconds patience = std::chrono::seconds{5}) {
    const auto message = next(patience);
    if (!message || !std::holds_alternative<T>(*message)) return std::nullopt;
    return std::get<T>(*message);
  }
  bool prove(const std::string& token = test::token, Credential credential = Credential::token) {
    ClientHandshake handshake(token, credential);
    send(handshake.begin());
    while (!handshake.done()) {
      const auto message = next();
      if (!message || std::holds_alternative<Refused>(*message)) return false;
      if (const auto proof = handshake.answer(*message)) send(*proof);
    }
    return true;
  }

 private:
  static FileDescriptor connected(std::uint16_t port, const char* source, int buffer) {
    FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    for (const int direction : {SO_SNDBUF, SO_RCVBUF})
      if (buffer != 0) ::setsockopt(socket.get(), SOL_SOCKET, direction, &buffer, sizeof buffer);
    sockaddr_in from = test::local(0);
    ::inet_pton(AF_INET, source, &from.sin_addr);
    const sockaddr_in to = test::local(port);
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&from), sizeof from) != 0 ||
        ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
      throw_system_error("a caller's socket");
    return socket;
  }

  Connection connection_;
};

inline double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

inline Join join_of(const JobKey& job, std::uint32_t worker, std::uint32_t workers) {
  return {.job = job.public_key(),
          .worker = worker,
          .workers = workers,
          .payload_bytes = 1000,
          .slots = 4};
}

/// Proves itself and takes the only seat of a group; false: the server does not let it.
inline bool is_admitted(Caller& caller, std::uint64_t job_number) {
  const JobKey job = test::job(job_number);
  const Join join = join_of(job, 0, 1);
  if (!caller.prove()) return false;
  caller.send(join);
  const auto challenge = caller.expect<JoinChallenge>();
  if (!challenge) return false;
  caller.send(JoinProof{0, job.sign(join_statement(join, challenge->nonce))});
  return caller.expect<Admitted>().has_value();
}

}  // namespace cohom::offload
