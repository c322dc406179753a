#pragma once
// ServerStatus: how things stand at a control server, as JSON.

#include "aggregation/server/data_plane.hpp"
#include "aggregation/server/server_clients.hpp"
#include "aggregation/server/server_groups.hpp"
#include "aggregation/server/server_journal.hpp"
#include "aggregation/server/server_setup.hpp"

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <cstdint>
#include <optional>

namespace cohom::offload {

class ServerStatus {
 public:
  /// All outlive it.
  ServerStatus(const ServerSetup& setup, const DataPlane& plane, const ServerClients& clients,
               const ServerGroups& groups, ServerJournal& journal)
      : setup_(setup), plane_(plane), clients_(clients), groups_(groups), journal_(journal) {}

  /// Operators are told of all jobs, who has the key of a job of that one, and the others how many
  /// there are.
  void tell(ServerClient& client, const StatusRequest& request);

 private:
  /// All groups, or those of the job.
  [[nodiscard]] nlohmann::ordered_json status(bool of_all, std::optional<std::uint64_t> job) const;
  [[nodiscard]] nlohmann::ordered_json status_of(const ServerGroup& group) const;

  const ServerSetup& setup_;
  const DataPlane& plane_;
  const ServerClients& clients_;
  const ServerGroups& groups_;
  ServerJournal& journal_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace cohom::offload
