#pragma once
// ServerGroups: the life of groups, here, in the data plane, and at the parent.

#include "aggregation/server/data_plane.hpp"
#include "aggregation/server/server_admissions.hpp"
#include "aggregation/server/server_clients.hpp"
#include "aggregation/server/server_group.hpp"
#include "aggregation/server/server_journal.hpp"
#include "aggregation/server/server_setup.hpp"

#include <poll.h>

#include <concepts>
#include <exception>
#include <map>
#include <optional>
#include <vector>

namespace cohom::offload {

class ServerGroups {
 public:
  /// All outlive it.
  ServerGroups(const ServerSetup& setup, DataPlane& plane, ServerClients& clients,
               ServerJournal& journal)
      : setup_(setup),
        plane_(plane),
        clients_(clients),
        journal_(journal),
        admissions_(plane, clients, journal) {}

  [[nodiscard]] const std::map<GroupKey, ServerGroup>& all() const { return groups_; }

  /// Seats a worker, which makes the group if there is none, and asks the parent or admits the
  /// group when it is whole. Whoever may not join was refused before. The group ends when it has
  /// more members here than an aggregator serves.
  void seat(ClientId id, ServerClient& client, const Join& request);
  /// What a member's message means to its group; false: nothing, at this time.
  bool take_ready(ClientId id, const ServerClient& client);
  /// An address that is none ends the group.
  bool take_address(ClientId id, const ServerClient& client, const UcxAddress& address);
  /// The parent asked for it.
  bool forward(ClientId id, const ServerClient& client, const JoinProof& proof);

  /// Adds what there is to wait for; whether it is better not to wait for long.
  [[nodiscard]] bool add_descriptors(std::vector<pollfd>& waiting) const;
  /// Goes on with every group, which may end it.
  void advance();
  /// Those that the data plane has given up.
  void dissolve_failed();
  void dissolve_all(const Refused& why);
  /// The client is gone, and so its group is.
  void lose_member(ClientId id, GroupKey key);
  /// Without a word to anybody.
  void clear() { groups_.clear(); }

 private:
  using Clock = ServerGroup::Clock;
  /// What fails in an action ends this group, not all of them.
  void guarded(GroupKey key, const std::invocable auto& action) {
    try {
      action();
    } catch (const std::exception& error) {
      dissolve(key, {Refusal::no_resources, error.what()});
    }
  }
  [[nodiscard]] ServerGroup new_group(GroupKey key, const Join& request, ClientId id) const;
  void ask_parent(ServerGroup& group, const Join& request);
  static void send_joins(Uplink& uplink);
  void serve_parent(ServerGroup& group);
  void handle_from_parent(ServerGroup& group, const Message& message);
  void leave_meeting(ServerGroup& group);
  void dissolve_if_late(ServerGroup& group);
  /// The group, if there is one, is no more; its clients learn why, or lose their connection where
  /// there is no memory for that. Leaves no reference to it valid.
  void dissolve(GroupKey key, const Refused& why);

  void end_if(GroupKey key, const std::optional<Refused>& why);

  const ServerSetup& setup_;
  DataPlane& plane_;
  ServerClients& clients_;
  ServerJournal& journal_;
  ServerAdmissions admissions_;
  std::map<GroupKey, ServerGroup> groups_;
};

}  // namespace cohom::offload
