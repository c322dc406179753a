// ControlServer: the life of a group, here and at the parent.

#include "aggregation/server/control_server.hpp"

#include "aggregation/net/random_word.hpp"
#include "aggregation/protocol/admission.hpp"

#include <cohom/error.hpp>
#include <cohom/merge.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace cohom::offload {

namespace {

/// Who comes again with another UCX library comes in another job; the rest may pass.
Refusal refusal_of(const Error& error) {
  return error.kind() == ErrorKind::unsupported ? Refusal::not_supported : Refusal::gone;
}

}  // namespace

/// A leaf joins for each of its workers; only the root knows when all are there.
void ControlServer::ask_parent(ServerGroup& group, const Join& request) {
  try {
    if (!group.uplink) {
      group.uplink =
          std::make_unique<Uplink>(Connection(start_connecting(*setup_.parent), most_message_bytes),
                                   ClientHandshake(setup_.token, Credential::token, setup_.munge));
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
  if (group.uplink->handshake.done())
    group.uplink->connection.send(up);
  else
    group.uplink->waiting.push_back(up);
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

void ControlServer::handle_from_parent(ServerGroup& group, const Message& message) {
  if (const auto* refused = std::get_if<Refused>(&message))
    return dissolve(group.key, {refused->reason, "the parent: " + refused->text});
  Uplink& uplink = *group.uplink;
  if (!uplink.handshake.done()) {
    if (const auto proof = uplink.handshake.answer(message)) return uplink.connection.send(*proof);
    for (const Join& join : std::exchange(uplink.waiting, {})) uplink.connection.send(join);
    return;
  }
  if (const auto* challenge = std::get_if<JoinChallenge>(&message)) {
    const auto found = group.joined.find(challenge->worker);
    if (found != group.joined.end() && uplink.asked.insert(challenge->worker).second)
      return clients_.at(found->second).connection.send(*challenge);
  }
  if (std::holds_alternative<Go>(message) && group.state == GroupState::greeting &&
      uplink.said_ready) {
    group.state = GroupState::open;
    plane_.start(*group.number);
    for (const auto& [client, worker] : group.branches()) clients_.at(client).connection.send(Go{});
    return;
  }
  const auto* admitted = std::get_if<Admitted>(&message);
  if (admitted == nullptr || group.state != GroupState::gathering) throw_meaningless_message();
  if (admitted->kind != plane_.kind())
    return dissolve(group.key, {Refusal::not_supported, "the parent is of kind '" + admitted->kind +
                                                            "', this aggregator of kind '" +
                                                            std::string(plane_.kind()) + "'"});
  check_admitted(*admitted, {.payload_bytes = group.payload_bytes, .slots = group.slots});
  const GroupKey key = group.key;
  group.parent_merges = admitted->merges;
  group.epoch = admitted->epoch;
  group.slots = admitted->slots;
  group.payload_bytes = admitted->payload_bytes;
  open_and_tell(group, {.parent = ParentPlan{.number = admitted->number,
                                             .worker = group.joined.begin()->first,
                                             .key = admitted->key,
                                             .data_address = admitted->data_address,
                                             .ucx_address = admitted->ucx_address,
                                             .control = *setup_.parent}});
  if (const auto found = groups_.find(key); found != groups_.end() && plane_.takes_messages())
    found->second.uplink->connection.send(WorkerAddress{plane_.ucx_address()});
}

/// The root's word: all workers have joined.
void ControlServer::admit(ServerGroup& group) {
  group.epoch = random_word();
  group.slots = std::min(group.slots, plane_.free_slots());
  group.payload_bytes -= group.payload_bytes % 8;
  open_and_tell(group, {});
}

/// `plan` has the parent, if there is one; the rest is the group's.
void ControlServer::open_and_tell(ServerGroup& group, const GroupPlan& plan) {
  GroupPlan whole = plan;
  whole.job = group.key.job;
  whole.epoch = group.epoch;
  for (const auto& [client, worker] : group.branches()) {
    whole.members |= std::uint64_t{1} << worker;
    whole.keys[worker] = random_word();
  }
  whole.slots = group.slots;
  whole.payload_bytes = group.payload_bytes;
  try {
    group.number = plane_.open(whole);
  } catch (const Error& error) {  // a parent's address that is none
    return dissolve(group.key, {refusal_of(error), error.what()});
  } catch (const std::exception& error) {
    return dissolve(group.key, {Refusal::no_resources, error.what()});
  }
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
  Admitted admitted{.kind = std::string(plane_.kind()),
                    .number = *group.number,
                    .epoch = group.epoch,
                    .key = 0,
                    .payload_bytes = group.payload_bytes,
                    .slots = group.slots,
                    .merges = merges,
                    .takes_narrow = plane_.takes_narrow() ? 1u : 0u,
                    .data_address = plane_.data_address(),
                    .ucx_address = plane_.ucx_address()};
  // To each its own key, and to nobody else: it is what a stranger lacks.
  for (const auto& [client, worker] : group.branches()) {
    admitted.key = whole.keys[worker];
    clients_.at(client).connection.send(admitted);
  }
  ++counts_.admitted;
  note(fmt::format("job {:x} group {}: {} workers, {} slots of {} bytes", group.key.job,
                   group.key.group, group.workers, group.slots, group.payload_bytes));
}

/// What a member says is not enough: the data plane must have met it.
bool ControlServer::all_ready(const ServerGroup& group) const {
  const auto branches = group.branches();
  if (group.ready.size() != branches.size()) return false;
  const std::uint64_t met = plane_.met(*group.number);
  return std::ranges::all_of(branches,
                             [met](const auto& branch) { return (met >> branch.second & 1) != 0; });
}

bool ControlServer::take_address(ClientId id, const Client& client, const UcxAddress& address) {
  if (!client.group) return false;
  const ServerGroup& group = groups_.at(*client.group);
  if (group.state != GroupState::greeting) return false;
  const std::uint32_t worker = group.branches().at(id);
  try {
    return plane_.take_address(*group.number, worker, address);
  } catch (const Error& error) {
    dissolve(group.key, {refusal_of(error), error.what()});
    return true;
  }
}

/// From greeting to open, when everybody here is ready.
void ControlServer::advance(ServerGroup& group) {
  if (group.state != GroupState::greeting) return;
  const bool met = !group.uplink || plane_.meet_parent(*group.number);
  if (!met || !all_ready(group)) return;
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
  if (found == groups_.end()) return;
  if (found->second.number) plane_.close(*found->second.number);
  groups_.erase(found);
  try {
    note(fmt::format("job {:x} group {} ends: {}", key.job, key.group, why.text));
  } catch (const std::exception&) {  // without memory for the line it is left out
  }
  for (auto& entry : clients_) {
    Client& client = entry.second;
    if (client.group != key) continue;
    client.group.reset();
    client.since = Clock::now();
    client.leaving = true;
    guarded(client, [&] { client.connection.send(why); });
  }
}

/// Those that the data plane has given up.
void ControlServer::dissolve_failed_groups() {
  for (const auto& [number, why] : plane_.failures()) {
    const auto found = std::ranges::find_if(
        groups_, [number = number](const auto& entry) { return entry.second.number == number; });
    if (found != groups_.end())
      guarded(found->first, [&, &text = why] { dissolve(found->first, {Refusal::gone, text}); });
  }
}

void ControlServer::dissolve_if_late(ServerGroup& group) {
  if (group.state == GroupState::open || Clock::now() - group.since <= setup_.limits.patience)
    return;
  dissolve(group.key,
           {Refusal::lock_failed, group.state == GroupState::gathering
                                      ? std::to_string(group.joined.size()) + " of " +
                                            std::to_string(group.workers) + " workers have come"
                                      : std::to_string(group.ready.size()) + " of " +
                                            std::to_string(group.branches().size()) +
                                            " members have shown where they are"});
}

/// Any of this may end it.
void ControlServer::look_after(GroupKey key) {
  for (const auto step :
       {&ControlServer::serve_parent, &ControlServer::advance, &ControlServer::dissolve_if_late})
    guarded(key, [&] {
      if (const auto found = groups_.find(key); found != groups_.end())
        (this->*step)(found->second);
    });
}

}  // namespace cohom::offload
