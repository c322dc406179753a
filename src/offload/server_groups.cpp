// ControlServer: the life of a group, here and at the parent.

#include "offload/control_server.hpp"

#include "log.hpp"

#include <cohom/error.hpp>
#include <cohom/merge.hpp>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <vector>

namespace cohom::offload {

/// A leaf joins for each of its workers; only the root knows when all are there.
void ControlServer::ask_parent(ServerGroup& group, const Join& request) {
  try {
    if (!group.uplink) {
      group.uplink = std::make_unique<Uplink>();
      group.uplink->connection = {start_connecting(*setup_.parent), most_message_bytes};
    }
  } catch (const Error& error) {
    return dissolve(group.key, {Refusal::lock_failed, std::string("the parent: ") + error.what()});
  }
  // The root sees its own slots alone. One at least: when none is left the group is refused here.
  group.slots = std::clamp(plane_.free_slots(), 1u, group.slots);
  Join up = request;
  (plane_.takes_messages() ? up.message_bytes : up.payload_bytes) = group.payload_bytes;
  up.slots = group.slots;
  group.uplink->connection.send(up);
}

void ControlServer::serve_parent(ServerGroup& group) {
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
  const bool alive = uplink.connection.read();
  try {
    while (const auto message = uplink.connection.next()) {
      handle_from_parent(group, *message);
      if (!groups_.contains(key)) return;
    }
  } catch (const Error& error) {
    return dissolve(key, {Refusal::gone, std::string("the parent: ") + error.what()});
  }
  if (!alive) dissolve(key, {Refusal::gone, "the connection to the parent has ended"});
}

void ControlServer::handle_from_parent(ServerGroup& group, const Message& message) {
  if (const auto* refused = std::get_if<Refused>(&message))
    return dissolve(group.key, {refused->reason, "the parent: " + refused->text});
  if (std::holds_alternative<Go>(message) && group.state == GroupState::greeting) {
    group.state = GroupState::open;
    plane_.start(*group.number);
    for (const auto& [client, worker] : group.branches()) clients_.at(client).connection.send(Go{});
    return;
  }
  const auto* admitted = std::get_if<Admitted>(&message);
  if (admitted == nullptr || group.state != GroupState::gathering)
    throw Error(ErrorKind::transport, "a control message that has no meaning here");
  if (admitted->kind != plane_.kind())
    return dissolve(group.key, {Refusal::not_supported, "the parent is of kind '" + admitted->kind +
                                                            "', this aggregator of kind '" +
                                                            std::string(plane_.kind()) + "'"});
  group.parent_merges = admitted->merges;
  group.epoch = admitted->epoch;
  group.slots = admitted->slots;
  group.payload_bytes = admitted->payload_bytes;
  open_and_tell(group, {.parent = ParentPlan{.number = admitted->number,
                                             .worker = group.joined.begin()->first,
                                             .data_address = admitted->data_address,
                                             .control = *setup_.parent}});
}

/// The root's word: all workers have joined.
void ControlServer::admit(ServerGroup& group) {
  if (++next_epoch_ == 0) ++next_epoch_;  // zero is nobody's
  group.epoch = next_epoch_;
  group.slots = std::min(group.slots, plane_.free_slots());
  group.payload_bytes -= group.payload_bytes % 8;
  open_and_tell(group, {});
}

/// `plan` has the parent, if there is one; the rest is the group's.
void ControlServer::open_and_tell(ServerGroup& group, const GroupPlan& plan) {
  GroupPlan whole = plan;
  whole.job = group.key.job;
  whole.epoch = group.epoch;
  whole.members = group.member_bits();
  whole.slots = group.slots;
  whole.payload_bytes = group.payload_bytes;
  group.number = plane_.open(whole);
  if (!group.number)
    return dissolve(
        group.key, {Refusal::no_resources, "no room for a group of " + std::to_string(group.slots) +
                                               " slots; the aggregator has " +
                                               std::to_string(plane_.slots()) + ", of which " +
                                               std::to_string(plane_.free_slots()) + " are free"});
  group.state = GroupState::greeting;
  group.since = Clock::now();
  // A leaf's sum of floats would change the order of additions, which is that of ranks.
  const std::uint32_t merges =
      group.uplink ? plane_.merges() & group.parent_merges & ~(1u << unsigned(MergeKind::add_float))
                   : plane_.merges();
  const Admitted admitted{.kind = std::string(plane_.kind()),
                          .number = *group.number,
                          .epoch = group.epoch,
                          .payload_bytes = group.payload_bytes,
                          .slots = group.slots,
                          .merges = merges,
                          .takes_narrow = plane_.takes_narrow() ? 1u : 0u,
                          .data_address = plane_.data_address()};
  for (const auto& [client, worker] : group.branches())
    clients_.at(client).connection.send(admitted);
  ++counts_.admitted;
  log().info("job {:x} group {}: {} workers, {} slots of {} bytes, epoch {:x}", group.key.job,
             group.key.group, group.workers, group.slots, group.payload_bytes, group.epoch);
}

/// From greeting to open, when everybody here is ready.
void ControlServer::advance(ServerGroup& group) {
  if (group.state != GroupState::greeting) return;
  const bool met = !group.uplink || plane_.meet_parent(*group.number);
  if (!met || group.ready.size() != group.branches().size()) return;
  if (group.uplink) {
    if (!std::exchange(group.uplink->said_ready, true)) group.uplink->connection.send(Ready{});
    return;
  }
  group.state = GroupState::open;
  plane_.start(*group.number);
  for (const auto& [client, worker] : group.branches()) clients_.at(client).connection.send(Go{});
}

void ControlServer::dissolve(GroupKey key, const Refused& why) {
  const auto found = groups_.find(key);
  if (found->second.number) plane_.close(*found->second.number);
  log().info("job {:x} group {} ends: {}", key.job, key.group, why.text);
  for (const auto& [id, worker] : found->second.branches()) {
    Client& client = clients_.at(id);
    client.group.reset();
    client.since = Clock::now();
    client.leaving = true;
    client.connection.send(why);
  }
  groups_.erase(found);
}

void ControlServer::dissolve_late_groups() {
  const auto now = Clock::now();
  std::vector<GroupKey> late;
  for (const auto& [key, group] : groups_)
    if (group.state != GroupState::open && now - group.since > setup_.limits.patience)
      late.push_back(key);
  for (const GroupKey& key : late) {
    const ServerGroup& group = groups_.at(key);
    dissolve(key,
             {Refusal::lock_failed, group.state == GroupState::gathering
                                        ? std::to_string(group.joined.size()) + " of " +
                                              std::to_string(group.workers) + " workers have come"
                                        : std::to_string(group.ready.size()) + " of " +
                                              std::to_string(group.branches().size()) +
                                              " members have shown where they are"});
  }
}

}  // namespace cohom::offload
