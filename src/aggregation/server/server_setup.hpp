#pragma once
// ServerSetup: what a control server is told when it is made.

#include "aggregation/auth/allowed_users.hpp"
#include "aggregation/net/endpoint.hpp"
#include "aggregation/server/source_records.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace cohom::offload {

struct ServerLimits {
  std::uint32_t jobs = 16;
  std::uint32_t groups = 64;
  std::uint32_t group_slots = 256;
  std::uint32_t payload_bytes = 8192;
  std::uint32_t connections = 1024;
  /// How long a group may take to form, and a connection that has proven itself to say what it
  /// wants.
  std::chrono::milliseconds patience{30000};
  /// How long a connection may take to prove itself.
  std::chrono::milliseconds handshake{2000};
  SourceLimits sources = {};

  // Shares of the connections.

  [[nodiscard]] std::uint32_t share_of_source() const { return std::max(connections / 4, 1u); }
  /// Without a proof: all of them, and those of one source.
  [[nodiscard]] std::uint32_t unproven() const { return std::max(connections / 4, 1u); }
  [[nodiscard]] std::uint32_t unproven_of_source() const { return std::max(connections / 8, 1u); }
};

struct ServerSetup {
  sockaddr_in listen{};
  int listener = -1;           ///< a socket that listens there already; -1: there is none
  std::uint64_t restarts = 0;  ///< of the process that serves
  std::string token;           ///< empty: none serves
  std::optional<AllowedUsers> munge = {};  ///< in its place: the users who may come
  std::string operator_token = {};  ///< empty: nobody is told of single jobs but who has their key
  std::optional<sockaddr_in> parent;  ///< of a leaf: its parent's control channel
  ServerLimits limits;
};

}  // namespace cohom::offload
