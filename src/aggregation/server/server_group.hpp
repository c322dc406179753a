#pragma once
// ServerGroup: what the control server knows of a group of workers.

#include "aggregation/protocol/connection.hpp"
#include "aggregation/protocol/handshake.hpp"
#include "aggregation/protocol/members.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

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

/// Joins of a connection that lack their proof: what an aggregator keeps for it.
inline constexpr std::size_t max_unproven_joins = 64;

/// A leaf's connection to its parent on behalf of one group.
struct Uplink {
  Connection connection;
  ClientHandshake handshake;
  std::deque<Join> waiting = {};  ///< for the end of the handshake, and for those before them
  std::set<std::uint32_t> unproven = {};  ///< workers whose join the parent has, and no proof
  std::set<std::uint32_t> asked = {};     ///< workers whose proof the parent waits for
  bool connecting = true;
  bool said_ready = false;
};

struct ServerGroup {
  using Clock = std::chrono::steady_clock;

  GroupKey key;
  PublicKey job{};                           ///< what the key's job is the number of
  std::uint32_t workers = 0;                 ///< of the whole group
  std::map<std::uint32_t, ClientId> joined;  ///< by worker
  /// Its members: clients, who stand for one worker each, and leaves, who stand for several. With
  /// the lowest of them.
  std::map<ClientId, std::uint32_t> members;
  std::set<ClientId> ready;
  GroupState state = GroupState::gathering;
  std::uint32_t payload_bytes = 0;  ///< the least that anybody can
  std::uint32_t slots = 0;
  std::uint64_t epoch = 0;
  std::uint32_t parent_merges = 0;      ///< of a leaf
  std::optional<std::uint32_t> number;  ///< the data plane's
  std::unique_ptr<Uplink> uplink;       ///< of a leaf
  Clock::time_point since;

  [[nodiscard]] bool has_room_for(ClientId client) const {
    return members.size() < cohom_max_members || members.contains(client);
  }
  void add(std::uint32_t worker, ClientId client) {
    joined.emplace(worker, client);
    std::uint32_t& lowest = members.try_emplace(client, worker).first->second;
    lowest = std::min(lowest, worker);
  }
};

}  // namespace cohom::offload
