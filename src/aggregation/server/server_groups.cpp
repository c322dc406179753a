#include "aggregation/server/server_groups.hpp"

#include "aggregation/auth/job_key.hpp"

#include <cohom/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace cohom::offload {

void ServerGroups::seat(ClientId id, ServerClient& client, const Join& request) {
  const GroupKey key{job_of(request.job), request.group};
  const auto found = groups_.find(key);
  if (found != groups_.end() && !found->second.has_room_for(id)) {
    client.group = key;  // it learns with the others why
    return dissolve(key, {Refusal::not_supported,
                          "more than " + std::to_string(cohom_max_members) +
                              " members of a group have come to one aggregator; groups of more "
                              "workers need leaves (--parent) that these come to"});
  }
  if (found != groups_.end())
    found->second.add(request.worker, id);
  else
    // With its first member: without memory for that one nothing stays of the group.
    groups_.emplace(key, new_group(key, request, id));
  client.group = key;
  ServerGroup& group = groups_.at(key);
  group.payload_bytes =
      std::min(group.payload_bytes, asked_payload(request, plane_.takes_messages()));
  group.slots = std::min(group.slots, request.slots);
  if (setup_.parent)
    ask_parent(group, request);
  else if (group.joined.size() == group.workers)
    end_if(key, admissions_.admit(group));
}

ServerGroup ServerGroups::new_group(GroupKey key, const Join& request, ClientId id) const {
  ServerGroup group;
  group.key = key;
  group.job = request.job;
  group.workers = request.workers;
  group.add(request.worker, id);
  group.payload_bytes = std::min(setup_.limits.payload_bytes, plane_.max_payload_bytes());
  group.slots = setup_.limits.group_slots;
  group.since = Clock::now();
  return group;
}

/// A leaf joins for each of its workers; only the root knows when all are there.
void ServerGroups::ask_parent(ServerGroup& group, const Join& request) {
  try {
    if (!group.uplink) {
      group.uplink = std::make_unique<Uplink>(
          Uplink{.connection = Connection(start_connecting(*setup_.parent), max_message_bytes),
                 .handshake = ClientHandshake(setup_.token, Credential::token, setup_.munge)});
      group.uplink->connection.send(group.uplink->handshake.begin());
    }
  } catch (const Error& error) {
    return dissolve(group.key, {Refusal::lock_failed, std::string("the parent: ") + error.what()});
  }
  // The root sees its own slots alone. One at least: when none is left the group is refused here.
  group.slots = std::clamp(plane_.free_slots(), 1u, group.slots);
  Join up = request;
  (plane_.takes_messages() ? up.message_bytes : up.payload_bytes) = group.payload_bytes;
  up.slots = group.slots;
  group.uplink->waiting.push_back(up);
  send_joins(*group.uplink);
}

/// No more than the parent keeps.
void ServerGroups::send_joins(Uplink& uplink) {
  if (!uplink.handshake.done()) return;
  while (!uplink.waiting.empty() && uplink.unproven.size() < max_unproven_joins) {
    uplink.unproven.insert(uplink.waiting.front().worker);
    uplink.connection.send(uplink.waiting.front());
    uplink.waiting.pop_front();
  }
}

void ServerGroups::serve_parent(ServerGroup& group) {
  if (!group.uplink) return;
  Uplink& uplink = *group.uplink;
  const GroupKey key = group.key;
  uplink.connection.write();
  if (uplink.connecting && uplink.connection.wants_to_write()) {
    const std::string failure = connect_failure(uplink.connection.descriptor());
    if (failure.empty()) return;
    return dissolve(key, {Refusal::lock_failed, "no connection to the parent: " + failure});
  }
  uplink.connecting = false;
  bool alive = true;
  try {
    alive = uplink.connection.read();
    while (const auto message = uplink.connection.next()) {
      handle_from_parent(group, *message);
      if (!groups_.contains(key)) return;
    }
  } catch (const std::exception& error) {
    return dissolve(key, {Refusal::gone, std::string("the parent: ") + error.what()});
  }
  if (!alive) dissolve(key, {Refusal::gone, "the connection to the parent has ended"});
}

void ServerGroups::handle_from_parent(ServerGroup& group, const Message& message) {
  if (const auto* refused = std::get_if<Refused>(&message))
    return dissolve(group.key, {refused->reason, "the parent: " + refused->text});
  Uplink& uplink = *group.uplink;
  if (!uplink.handshake.done()) {
    if (const auto proof = uplink.handshake.answer(message)) return uplink.connection.send(*proof);
    return send_joins(uplink);
  }
  if (const auto* challenge = std::get_if<JoinChallenge>(&message)) {
    const auto found = group.joined.find(challenge->worker);
    if (found != group.joined.end() && uplink.asked.insert(challenge->worker).second)
      return clients_.at(found->second).connection.send(*challenge);
  }
  if (std::holds_alternative<Go>(message) && group.state == GroupState::meeting &&
      uplink.said_ready)
    return admissions_.start(group);
  const auto* admitted = std::get_if<Admitted>(&message);
  if (admitted == nullptr || group.state != GroupState::gathering) throw_meaningless_message();
  end_if(group.key, admissions_.admit(group, *admitted, *setup_.parent));
}

bool ServerGroups::take_ready(ClientId id, const ServerClient& client) {
  if (!client.group) return false;
  ServerGroup& group = groups_.at(*client.group);
  if (group.state != GroupState::meeting) return false;
  group.ready.insert(id);
  return true;
}

bool ServerGroups::forward(ClientId id, const ServerClient& client, const JoinProof& proof) {
  if (!client.group) return false;
  ServerGroup& group = groups_.at(*client.group);
  const auto member = group.joined.find(proof.worker);
  if (!group.uplink || member == group.joined.end() || member->second != id ||
      group.uplink->asked.erase(proof.worker) == 0)
    return false;
  group.uplink->connection.send(proof);
  // The first one is the parent's own, who then keeps nothing of this join.
  if (group.uplink->unproven.erase(proof.worker) != 0) send_joins(*group.uplink);
  return true;
}

bool ServerGroups::take_address(ClientId id, const ServerClient& client,
                                const UcxAddress& address) {
  if (!client.group) return false;
  const ServerGroup& group = groups_.at(*client.group);
  if (group.state != GroupState::meeting) return false;
  const std::uint32_t worker = group.members.at(id);
  try {
    return plane_.take_address(*group.number, worker, address);
  } catch (const Error& error) {
    dissolve(group.key, {refusal_of(error), error.what()});
    return true;
  }
}

/// From meeting to started, when everybody here is ready.
void ServerGroups::leave_meeting(ServerGroup& group) {
  if (group.state != GroupState::meeting) return;
  const bool met = !group.uplink || plane_.meet_parent(*group.number);
  if (!met || !admissions_.all_ready(group)) return;
  if (group.uplink) {
    if (!std::exchange(group.uplink->said_ready, true)) group.uplink->connection.send(Ready{});
    return;
  }
  admissions_.start(group);
}

void ServerGroups::dissolve(GroupKey key, const Refused& why) {
  const auto found = groups_.find(key);
  if (found == groups_.end()) return;
  if (found->second.number) plane_.close(*found->second.number);
  groups_.erase(found);
  try {
    journal_.note(fmt::format("job {} group {} ends: {}", key.job, key.group, why.text));
  } catch (const std::exception&) {  // without memory for the line it is left out
  }
  clients_.dismiss(key, why);
}

void ServerGroups::end_if(GroupKey key, const std::optional<Refused>& why) {
  if (why) dissolve(key, *why);
}

void ServerGroups::dissolve_all(const Refused& why) {
  while (!groups_.empty()) dissolve(groups_.begin()->first, why);
}

void ServerGroups::lose_member(ClientId id, GroupKey key) {
  const ServerGroup& group = groups_.at(key);
  const auto worker =
      std::ranges::find(group.joined, id, [](const auto& member) { return member.second; });
  ++journal_.counts.gone;
  guarded(key, [&] {
    dissolve(key, {Refusal::gone, "worker " + std::to_string(worker->first) + " has left"});
  });
}

void ServerGroups::dissolve_failed() {
  for (const auto& [number, why] : plane_.failures()) {
    const auto found = std::ranges::find_if(
        groups_, [number = number](const auto& entry) { return entry.second.number == number; });
    if (found != groups_.end())
      guarded(found->first, [&, &text = why] { dissolve(found->first, {Refusal::gone, text}); });
  }
}

void ServerGroups::dissolve_if_late(ServerGroup& group) {
  if (group.state == GroupState::started || Clock::now() - group.since <= setup_.limits.patience)
    return;
  dissolve(group.key,
           {Refusal::lock_failed, group.state == GroupState::gathering
                                      ? std::to_string(group.joined.size()) + " of " +
                                            std::to_string(group.workers) + " workers have come"
                                      : std::to_string(group.ready.size()) + " of " +
                                            std::to_string(group.members.size()) +
                                            " members have shown where they are"});
}

bool ServerGroups::add_descriptors(std::vector<pollfd>& waiting) const {
  if (plane_.failures_descriptor() >= 0)
    waiting.push_back({plane_.failures_descriptor(), POLLIN, 0});
  bool busy = false;
  for (const auto& [key, group] : groups_) {
    if (!group.uplink) continue;
    const Connection& uplink = group.uplink->connection;
    const bool writes = group.uplink->connecting || uplink.wants_to_write();
    waiting.push_back({uplink.descriptor(), short(writes ? POLLIN | POLLOUT : POLLIN), 0});
    busy |= group.state == GroupState::meeting && !group.uplink->said_ready;
  }
  return busy;
}

void ServerGroups::advance() {
  for (auto next = groups_.begin(); next != groups_.end();) {
    const GroupKey key = next->first;
    for (const auto step : {&ServerGroups::serve_parent, &ServerGroups::leave_meeting,
                            &ServerGroups::dissolve_if_late})
      guarded(key, [&] {
        if (const auto found = groups_.find(key); found != groups_.end())
          (this->*step)(found->second);
      });
    next = groups_.upper_bound(key);
  }
}

}  // namespace cohom::offload
