#pragma once
// ServerAdmissions: how a group that is whole gets its place in the data plane, and its members
// hear of it.

#include "aggregation/net/endpoint.hpp"
#include "aggregation/server/data_plane.hpp"
#include "aggregation/server/server_clients.hpp"
#include "aggregation/server/server_group.hpp"
#include "aggregation/server/server_journal.hpp"

#include <cohom/error.hpp>

#include <optional>

namespace cohom::offload {

/// Who comes again with another UCX library comes in another job; the rest may pass.
Refusal refusal_of(const Error& error);

class ServerAdmissions {
 public:
  /// All outlive it.
  ServerAdmissions(DataPlane& plane, ServerClients& clients, ServerJournal& journal)
      : plane_(plane), clients_(clients), journal_(journal) {}

  /// The root's word: all workers have joined. Why the group has to end, if it has.
  [[nodiscard]] std::optional<Refused> admit(ServerGroup& group);
  /// The parent's word: all workers have joined, here and elsewhere. Likewise.
  /// @throws Error(transport) for an admission that is none.
  [[nodiscard]] std::optional<Refused> admit(ServerGroup& group, const Admitted& admitted,
                                             const sockaddr_in& parent);
  /// What a member says is not enough: the data plane must have met it.
  [[nodiscard]] bool all_ready(const ServerGroup& group) const;
  /// Contributions may come.
  void start(ServerGroup& group);

 private:
  [[nodiscard]] std::optional<Refused> open_and_tell(ServerGroup& group,
                                                     std::optional<ParentPlan> parent);
  void tell_members(const ServerGroup& group, const GroupPlan& plan);

  DataPlane& plane_;
  ServerClients& clients_;
  ServerJournal& journal_;
};

}  // namespace cohom::offload
