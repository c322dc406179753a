#pragma once
// Endpoints HOST:PORT as users write them, and sockets to them. IPv4.

#include "base/file_descriptor.hpp"

#include <netinet/in.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cohom::offload {

struct Endpoint {
  std::string host;
  std::uint16_t port = 0;

  [[nodiscard]] std::string text() const;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

/// Reads HOST:PORT; `what` names the option in the error.
/// @throws Error(invalid_argument)
Endpoint parse_endpoint(std::string_view text, std::string_view what);

/// Of a host that is written as numbers; none: it is a name.
std::optional<sockaddr_in> numeric(const Endpoint& endpoint);

/// Asks the system for the address of a name; may block. @throws Error(transport)
sockaddr_in resolve(const Endpoint& endpoint);

/// The address of a data path that Admitted names as HOST:PORT; an empty HOST is that of `control`,
/// and another one is written as numbers: names are not looked up.
/// @throws Error
sockaddr_in resolve_data_address(std::string_view text, const sockaddr_in& control);

/// How an address is written.
std::string text_of(const sockaddr_in& address);

/// A TCP socket that is being connected and does not block. @throws Error(transport)
FileDescriptor start_connecting(const sockaddr_in& address);

/// What became of start_connecting() once the socket is writable; empty: connected.
std::string connect_failure(int socket);

/// A TCP socket that listens and does not block. Waits as long as `patience` for who is there
/// still.
/// @throws Error(transport)
FileDescriptor listen_on(const sockaddr_in& address, std::chrono::milliseconds patience = {});

/// Lets the system find out when the other machine has died: within half a minute.
void keep_alive(const FileDescriptor& socket);

/// Error(transport) that says what failed, and errno's text.
[[noreturn]] void throw_system_error(const std::string& what);

}  // namespace cohom::offload
