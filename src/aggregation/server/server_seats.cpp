#include "aggregation/server/server_seats.hpp"

#include "aggregation/auth/job_key.hpp"

#include <cstdint>
#include <set>
#include <string>

namespace cohom::offload {

void ServerSeats::challenge(ServerClient& client, const Join& request) {
  if (const auto refused = why_not(request)) return journal_.refuse(client, *refused);
  // A leaf has no more of them under way (ServerGroups::send_joins()).
  if (client.joining.size() == max_unproven_joins && !client.joining.contains(request.worker))
    return journal_.refuse(
        client, {Refusal::no_resources, "more than " + std::to_string(max_unproven_joins) +
                                            " joins of a connection lack their proof"});
  PendingJoin& pending = client.joining[request.worker];
  pending = {request, random_nonce()};
  client.connection.send(JoinChallenge{request.worker, pending.nonce});
}

bool ServerSeats::take_proof(ClientId id, ServerClient& client, const JoinProof& proof) {
  const auto pending = client.joining.extract(proof.worker);
  if (!pending) return false;
  const auto& [request, nonce] = pending.mapped();
  if (is_signed(request.job, proof.signature, join_statement(request, nonce)))
    join(id, client, request);
  else
    journal_.refuse(client, {Refusal::wrong_key, "worker " + std::to_string(request.worker) +
                                                     " does not have the job's key"});
  return true;
}

void ServerSeats::join(ClientId id, ServerClient& client, const Join& request) {
  if (const auto refused = why_not(request)) return journal_.refuse(client, *refused);
  const GroupKey key{job_of(request.job), request.group};
  if (client.group && *client.group != key)
    return journal_.refuse(client, {Refusal::not_supported, "a connection serves one group"});
  if (const auto refused = why_not_in(key, request)) return journal_.refuse(client, *refused);
  groups_.seat(id, client, request);
}

/// Refusals that do not depend on who is in the group already.
std::optional<Refused> ServerSeats::why_not(const Join& request) const {
  if (request.workers == 0 || request.workers > cohom_max_workers ||
      request.worker >= request.workers)
    return Refused{Refusal::not_supported, "worker " + std::to_string(request.worker) + " of " +
                                               std::to_string(request.workers) +
                                               "; a group has 1 to " +
                                               std::to_string(cohom_max_workers) + " workers"};
  if (plane_.takes_messages() && request.message_bytes == 0)
    return Refused{Refusal::not_supported,
                   "this worker sends no active messages: it was built without UCX"};
  if (asked_payload(request, plane_.takes_messages()) < 8 || request.slots == 0)
    return Refused{Refusal::not_supported, "payloads without words, or no slots"};
  return why_no_new_group(request);
}

std::optional<Refused> ServerSeats::why_no_new_group(const Join& request) const {
  const GroupKey key{job_of(request.job), request.group};
  std::set<std::uint64_t> jobs;
  for (const auto& [other, group] : groups_.all()) {
    jobs.insert(other.job);
    if (other.job == key.job && group.job != request.job)
      return Refused{Refusal::wrong_key, "a job with another key has this number"};
  }
  if (groups_.all().contains(key)) return std::nullopt;
  if (groups_.all().size() >= limits_.groups)
    return Refused{Refusal::no_resources,
                   "all " + std::to_string(limits_.groups) + " groups are taken"};
  if (!jobs.contains(key.job) && jobs.size() >= limits_.jobs)
    return Refused{Refusal::no_resources,
                   "all " + std::to_string(limits_.jobs) + " jobs are taken"};
  if (plane_.free_slots() == 0)
    return Refused{Refusal::no_resources,
                   "all " + std::to_string(plane_.slots()) + " slots are taken"};
  return std::nullopt;
}

std::optional<Refused> ServerSeats::why_not_in(GroupKey key, const Join& request) const {
  const auto found = groups_.all().find(key);
  if (found == groups_.all().end()) return std::nullopt;
  const ServerGroup& group = found->second;
  if (group.workers != request.workers)
    return Refused{Refusal::not_supported, "a group of " + std::to_string(request.workers) +
                                               " workers, which others say has " +
                                               std::to_string(group.workers)};
  if (group.state != GroupState::gathering || group.joined.contains(request.worker))
    return Refused{Refusal::lock_failed, "worker " + std::to_string(request.worker) +
                                             " is in the group still, from before"};
  return std::nullopt;
}

}  // namespace cohom::offload
