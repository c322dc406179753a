#pragma once
// ServerGroup: what the control server knows of a group of workers.

#include "aggregation/protocol/connection.hpp"
#include "aggregation/protocol/handshake.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace cohom::offload {

using ClientId = std::uint64_t;

struct GroupKey {
  std::uint64_t job = 0;
  std::uint32_t group = 0;
  friend bool operator==(const GroupKey&, const GroupKey&) = default;
  friend bool operator<(const GroupKey& a, const GroupKey& b) {
    return std::pair(a.job, a.group) < std::pair(b.job, b.group);
  }
};

/// The longest payload that a worker can, in the messages of the data plane.
inline std::uint32_t asked_payload(const Join& request, bool takes_messages) {
  return takes_messages ? request.message_bytes : request.payload_bytes;
}

/// A group forms in this order, here and at the leaves below.
enum class GroupState {
  gathering,  ///< workers join
  meeting,    ///< all have joined; each shows the data plane where it is
  started,    ///< contributions may come
};

constexpr std::string_view name_of(GroupState state) {
  switch (state) {
    case GroupState::gathering: return "gathering";
    case GroupState::meeting: return "greeting";
    case GroupState::started: return "open";
  }
  return "?";
}

/// A leaf's connection to its parent on behalf of one group.
struct Uplink {
  Connection connection;
  ClientHandshake handshake;
  std::vector<Join> waiting = {};      ///< for the end of the handshake
  std::set<std::uint32_t> asked = {};  ///< workers whose proof the parent waits for
  bool connecting = true;
  bool said_ready = false;
};

struct ServerGroup {
  using Clock = std::chrono::steady_clock;

  GroupKey key;
  PublicKey job{};                           ///< what the key's job is the number of
  std::uint32_t workers = 0;                 ///< of the whole group
  std::map<std::uint32_t, ClientId> joined;  ///< by worker
  std::set<ClientId> ready;
  GroupState state = GroupState::gathering;
  std::uint32_t payload_bytes = 0;  ///< the least that anybody can
  std::uint32_t slots = 0;
  std::uint64_t epoch = 0;
  std::uint32_t parent_merges = 0;      ///< of a leaf
  std::optional<std::uint32_t> number;  ///< the data plane's
  std::unique_ptr<Uplink> uplink;       ///< of a leaf
  Clock::time_point since;

  /// Clients stand for one worker each, leaves for several: by client the lowest of them.
  [[nodiscard]] std::map<ClientId, std::uint32_t> branches() const {
    std::map<ClientId, std::uint32_t> lowest;
    for (const auto& [worker, client] : joined) lowest.try_emplace(client, worker);
    return lowest;
  }
};

}  // namespace cohom::offload
