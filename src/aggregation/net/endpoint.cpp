#include "aggregation/net/endpoint.hpp"

#include <cohom/error.hpp>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <thread>

namespace cohom::offload {

namespace {

constexpr int seconds_idle = 10;
constexpr int seconds_between_probes = 5;
constexpr int probes = 4;
constexpr int backlog = SOMAXCONN;

void set_option(const FileDescriptor& socket, int level, int option, int value) {
  if (::setsockopt(socket.get(), level, option, &value, sizeof value) != 0)
    throw_system_error("setsockopt");
}

const sockaddr* generic(const sockaddr_in& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

FileDescriptor stream_socket() {
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) throw_system_error("socket");
  return socket;
}

}  // namespace

std::string Endpoint::text() const { return host + ":" + std::to_string(port); }

Endpoint parse_endpoint(std::string_view text, std::string_view what) {
  const auto colon = text.rfind(':');
  Endpoint endpoint;
  if (colon != std::string_view::npos && colon != 0) {
    endpoint.host = text.substr(0, colon);
    const auto digits = text.substr(colon + 1);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), endpoint.port);
    if (error == std::errc{} && end == digits.data() + digits.size() && endpoint.port != 0)
      return endpoint;
  }
  throw Error(ErrorKind::invalid_argument,
              std::string(what) + " is '" + std::string(text) +
                  "'; it should be HOST:PORT with a port from 1 to 65535");
}

std::optional<sockaddr_in> numeric(const Endpoint& endpoint) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(endpoint.port);
  if (::inet_pton(AF_INET, endpoint.host.c_str(), &address.sin_addr) != 1) return std::nullopt;
  return address;
}

sockaddr_in resolve(const Endpoint& endpoint) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(endpoint.host.c_str(), nullptr, &hints, &found);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  if (error != 0)
    throw Error(ErrorKind::transport,
                "the host of " + endpoint.text() + " is not known: " + ::gai_strerror(error));
  sockaddr_in address{};
  std::memcpy(&address, found->ai_addr, sizeof address);
  address.sin_port = htons(endpoint.port);
  return address;
}

sockaddr_in resolve_data_address(std::string_view text, const sockaddr_in& control) {
  constexpr std::string_view what = "the data path's address";
  if (!text.starts_with(':')) {
    const auto found = numeric(parse_endpoint(text, what));
    if (!found)
      throw Error(ErrorKind::transport, std::string(what) + " is '" + std::string(text) +
                                            "'; it should have an address in numbers");
    return *found;
  }
  sockaddr_in address = control;
  address.sin_port = htons(parse_endpoint("-" + std::string(text), what).port);
  return address;
}

std::string text_of(const sockaddr_in& address) {
  std::array<char, INET_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
  return std::string(text.data()) + ":" + std::to_string(ntohs(address.sin_port));
}

FileDescriptor start_connecting(const sockaddr_in& address) {
  FileDescriptor socket = stream_socket();
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  if (::connect(socket.get(), generic(address), sizeof address) != 0 && errno != EINPROGRESS)
    throw_system_error("no connection to " + text_of(address));
  return socket;
}

std::string connect_failure(int socket) {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  return error == 0 ? std::string() : std::string(std::strerror(error));
}

FileDescriptor listen_on(const sockaddr_in& address, std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds between_attempts{20};
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (true) {
    FileDescriptor socket = stream_socket();
    set_option(socket, SOL_SOCKET, SO_REUSEADDR, 1);
    if (::bind(socket.get(), generic(address), sizeof address) == 0 &&
        ::listen(socket.get(), backlog) == 0)
      return socket;
    if (errno != EADDRINUSE || std::chrono::steady_clock::now() >= deadline)
      throw_system_error("cannot listen on " + text_of(address));
    std::this_thread::sleep_for(between_attempts);
  }
}

void keep_alive(const FileDescriptor& socket) {
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, seconds_idle);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, seconds_between_probes);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, probes);
}

void throw_system_error(const std::string& what) {
  throw Error(ErrorKind::transport, what + ": " + std::strerror(errno));
}

}  // namespace cohom::offload
