#include "aggregation/server/server_admissions.hpp"

#include "aggregation/net/random_word.hpp"
#include "aggregation/protocol/admission.hpp"

#include <cohom/error.hpp>
#include <cohom/merge.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace cohom::offload {

Refusal refusal_of(const Error& error) {
  return error.kind() == ErrorKind::unsupported ? Refusal::not_supported : Refusal::gone;
}

std::optional<Refused> ServerAdmissions::admit(ServerGroup& group, const Admitted& admitted,
                                               const sockaddr_in& parent) {
  if (admitted.kind != plane_.kind())
    return Refused{Refusal::not_supported, "the parent is of kind '" + admitted.kind +
                                               "', this aggregator of kind '" +
                                               std::string(plane_.kind()) + "'"};
  check_admitted(admitted, {.payload_bytes = group.payload_bytes, .slots = group.slots});
  group.parent_merges = admitted.merges;
  group.epoch = admitted.epoch;
  group.slots = admitted.slots;
  group.payload_bytes = admitted.payload_bytes;
  auto refused = open_and_tell(group, ParentPlan{.number = admitted.number,
                                                 .worker = group.joined.begin()->first,
                                                 .key = admitted.key,
                                                 .data_address = admitted.data_address,
                                                 .ucx_address = admitted.ucx_address,
                                                 .control = parent});
  if (!refused && plane_.takes_messages())
    group.uplink->connection.send(WorkerAddress{plane_.ucx_address()});
  return refused;
}

std::optional<Refused> ServerAdmissions::admit(ServerGroup& group) {
  group.epoch = random_word();
  group.slots = std::min(group.slots, plane_.free_slots());
  group.payload_bytes -= group.payload_bytes % 8;
  return open_and_tell(group, std::nullopt);
}

std::optional<Refused> ServerAdmissions::open_and_tell(ServerGroup& group,
                                                       std::optional<ParentPlan> parent) {
  GroupPlan whole{.job = group.key.job,
                  .epoch = group.epoch,
                  .members = {},
                  .slots = group.slots,
                  .payload_bytes = group.payload_bytes,
                  .parent = std::move(parent)};
  for (const auto& [worker, client] : group.joined)
    if (group.members.at(client) == worker) whole.members.push_back({worker, random_word()});
  try {
    group.number = plane_.add_group(whole);
  } catch (const Error& error) {  // a parent's address that is none
    return Refused{refusal_of(error), error.what()};
  } catch (const std::exception& error) {
    return Refused{Refusal::no_resources, error.what()};
  }
  if (!group.number)
    return Refused{Refusal::no_resources, "no room for a group of " + std::to_string(group.slots) +
                                              " slots; the aggregator has " +
                                              std::to_string(plane_.slots()) + ", of which " +
                                              std::to_string(plane_.free_slots()) + " are free"};
  group.state = GroupState::meeting;
  group.since = ServerGroup::Clock::now();
  tell_members(group, whole);
  ++journal_.counts.admitted;
  journal_.note(fmt::format("job {} group {}: {} workers, {} slots of {} bytes", group.key.job,
                            group.key.group, group.workers, group.slots, group.payload_bytes));
  return std::nullopt;
}

void ServerAdmissions::tell_members(const ServerGroup& group, const GroupPlan& plan) {
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
  for (const MemberPlan& member : plan.members) {
    admitted.key = member.key;
    clients_.at(group.joined.at(member.worker)).connection.send(admitted);
  }
}

bool ServerAdmissions::all_ready(const ServerGroup& group) const {
  return group.ready.size() == group.members.size() &&
         plane_.met(*group.number) == cohom_bits_of(static_cast<__u32>(group.members.size()));
}

void ServerAdmissions::start(ServerGroup& group) {
  group.state = GroupState::started;
  plane_.start(*group.number);
  for (const auto& [client, worker] : group.members) clients_.at(client).connection.send(Go{});
}

}  // namespace cohom::offload
