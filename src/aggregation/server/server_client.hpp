#pragma once
// ServerClient: what the control server knows of a connection.

#include "aggregation/protocol/connection.hpp"
#include "aggregation/protocol/handshake.hpp"
#include "aggregation/server/server_group.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace cohom::offload {

struct PendingJoin {
  Join join;
  Nonce nonce{};
};

struct ServerClient {
  using Clock = std::chrono::steady_clock;

  Connection connection;
  std::uint32_t source = 0;  ///< its address
  std::string peer;
  Clock::time_point since;
  ServerHandshake handshake = {};
  std::optional<Begin> held;  ///< is answered when its source may be
  bool is_judged = false;     ///< munged is asked who it is
  bool proven = false;        ///< knows the token, or is of a user who may
  bool is_operator = false;
  std::map<std::uint32_t, PendingJoin> joining = {};  ///< by worker: joins that lack their proof
  std::optional<GroupKey> group;
  bool leaving = false;  ///< goes once everything is written
  bool gone = false;

  /// For its turn, or for munged.
  [[nodiscard]] bool waits() const { return held || is_judged; }

  /// Nothing is read for later: neither while a handshake waits, nor before the client has taken
  /// our answer. So the client's own socket is what fills up, and no client makes us keep more than
  /// one answer.
  [[nodiscard]] bool is_read() const {
    return !leaving && !waits() && !connection.wants_to_write();
  }
};

}  // namespace cohom::offload
