#pragma once
// ServerSeats: which workers may join which group.

#include "aggregation/server/data_plane.hpp"
#include "aggregation/server/server_client.hpp"
#include "aggregation/server/server_groups.hpp"
#include "aggregation/server/server_journal.hpp"
#include "aggregation/server/server_setup.hpp"

#include <optional>

namespace cohom::offload {

class ServerSeats {
 public:
  /// All outlive it.
  ServerSeats(const ServerLimits& limits, const DataPlane& plane, ServerGroups& groups,
              ServerJournal& journal)
      : limits_(limits), plane_(plane), groups_(groups), journal_(journal) {}

  /// A seat is for who has the job's private key. The nonce is fresh, so no proof serves twice, nor
  /// at another aggregator.
  void challenge(ServerClient& client, const Join& request);
  /// Whether the client was challenged so; then it has its seat, or was refused.
  bool take_proof(ClientId id, ServerClient& client, const JoinProof& proof);

 private:
  void join(ClientId id, ServerClient& client, const Join& request);
  [[nodiscard]] std::optional<Refused> why_not(const Join& request) const;
  [[nodiscard]] std::optional<Refused> why_no_new_group(const Join& request) const;
  [[nodiscard]] std::optional<Refused> why_not_in(GroupKey key, const Join& request) const;

  const ServerLimits& limits_;
  const DataPlane& plane_;
  ServerGroups& groups_;
  ServerJournal& journal_;
};

}  // namespace cohom::offload
