#include "aggregation/server/control_server.hpp"

#include "aggregation/auth/job_key.hpp"
#include "base/log.hpp"

#include <spdlog/spdlog.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <set>

namespace cohom::offload {

namespace {

constexpr std::chrono::milliseconds idle_time{500};
constexpr std::chrono::milliseconds busy_time{10};  ///< while a parent is being met

FileDescriptor duplicate(int socket) {
  FileDescriptor copy(::fcntl(socket, F_DUPFD_CLOEXEC, 0));
  if (!copy.open()) throw_system_error("fcntl");
  return copy;
}

}  // namespace

ControlServer::ControlServer(const ServerSetup& setup, DataPlane& plane)
    : setup_(setup),
      plane_(plane),
      listener_(setup.listener < 0 ? listen_on(setup.listen) : duplicate(setup.listener)),
      sources_(setup.limits.sources) {
  if (setup.munge) judge_.emplace();
}

ControlServer::~ControlServer() = default;

sockaddr_in ControlServer::address() const {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw_system_error("getsockname");
  return address;
}

void ControlServer::stop() {
  stopping_ = true;
  stop_event_.set();
}

void ControlServer::run() {
  const struct HangUp {
    ControlServer& server;
    ~HangUp() {
      server.groups_.clear();
      server.clients_.clear();
      server.listener_.reset();
    }
  } at_the_end{*this};
  while (!stopping_) {
    wait();
    take_verdicts();
    accept_clients();
    for (auto& [id, client] : clients_) serve(id, client);
    for (auto next = groups_.begin(); next != groups_.end();) {
      const GroupKey key = next->first;
      look_after(key);
      next = groups_.upper_bound(key);
    }
    dissolve_failed_groups();
    remove_late_clients();
    remove_gone_clients();
  }
  while (!groups_.empty())
    dissolve(groups_.begin()->first, {Refusal::gone, "the aggregator was stopped"});
}

/// Sleeps until something happens or it is time to look.
void ControlServer::wait() {
  std::vector<pollfd> waiting{{stop_event_.descriptor(), POLLIN, 0}};
  if (may_accept() && !no_descriptors_) waiting.push_back({listener_.get(), POLLIN, 0});
  if (judge_) waiting.push_back({judge_->descriptor(), POLLIN, 0});
  if (plane_.failures_descriptor() >= 0)
    waiting.push_back({plane_.failures_descriptor(), POLLIN, 0});
  bool busy = false;
  for (const auto& [id, client] : clients_) {
    // What is not read is not waited for either; else the loop would not sleep.
    const int event = client.connection.wants_to_write() ? POLLOUT
                      : waits(client)                    ? POLLRDHUP
                                                         : POLLIN;
    waiting.push_back({client.connection.descriptor(), short(event), 0});
    busy |= client.gone;
  }
  for (const auto& [key, group] : groups_) {
    if (!group.uplink) continue;
    const Connection& uplink = group.uplink->connection;
    const bool writes = group.uplink->connecting || uplink.wants_to_write();
    waiting.push_back({uplink.descriptor(), short(writes ? POLLIN | POLLOUT : POLLIN), 0});
    busy |= group.state == GroupState::greeting && !group.uplink->said_ready;
  }
  const auto time = busy ? busy_time : time_to_look();
  ::poll(waiting.data(), waiting.size(), static_cast<int>(time.count()));
}

/// Until a connection must go, or is to be answered.
std::chrono::milliseconds ControlServer::time_to_look() const {
  const auto now = Clock::now();
  auto next = now + idle_time;
  for (const auto& [id, client] : clients_) {
    const auto due =
        client.held ? sources_.answer_at(client.source, now) : deadline_of(client).value_or(next);
    next = std::min(next, due);
  }
  return std::max(std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()),
                  std::chrono::milliseconds(1));
}

void ControlServer::handle(ClientId id, Client& client, const Message& message) {
  if (!client.proven) return shake_hands(id, client, message);
  if (const auto* request = std::get_if<Join>(&message)) return challenge(client, *request);
  if (const auto* proof = std::get_if<JoinProof>(&message)) return take_proof(id, client, *proof);
  if (const auto* request = std::get_if<StatusRequest>(&message))
    return tell_status(client, *request);
  if (std::holds_alternative<Ready>(message) && client.group) {
    ServerGroup& group = groups_.at(*client.group);
    if (group.state == GroupState::greeting) {
      group.ready.insert(id);
      return;
    }
  }
  if (const auto* own = std::get_if<WorkerAddress>(&message);
      own != nullptr && take_address(id, client, own->address))
    return;
  throw_meaningless_message();
}

std::uint32_t ControlServer::asked_payload(const Join& request) const {
  return plane_.takes_messages() ? request.message_bytes : request.payload_bytes;
}

/// A seat is for who has the job's private key. The nonce is fresh, so no proof serves twice, nor
/// at another aggregator.
void ControlServer::challenge(Client& client, const Join& request) {
  if (const auto refused = why_not(request)) return refuse(client, *refused);
  PendingJoin& pending = client.joining[request.worker];
  pending = {request, random_nonce()};
  client.connection.send(JoinChallenge{request.worker, pending.nonce});
}

void ControlServer::take_proof(ClientId id, Client& client, const JoinProof& proof) {
  if (const auto pending = client.joining.extract(proof.worker)) {
    const auto& [request, nonce] = pending.mapped();
    if (!is_signed(request.job, proof.signature, join_statement(request, nonce)))
      return refuse(client, {Refusal::wrong_key, "worker " + std::to_string(request.worker) +
                                                     " does not have the job's key"});
    return join(id, client, request);
  }
  // A parent asked for it.
  if (client.group) {
    const ServerGroup& group = groups_.at(*client.group);
    const auto member = group.joined.find(proof.worker);
    if (group.uplink && member != group.joined.end() && member->second == id &&
        group.uplink->asked.erase(proof.worker) != 0)
      return group.uplink->connection.send(proof);
  }
  throw_meaningless_message();
}

void ControlServer::join(ClientId id, Client& client, const Join& request) {
  if (const auto refused = why_not(request)) return refuse(client, *refused);
  const GroupKey key{job_of(request.job), request.group};
  if (client.group && *client.group != key)
    return refuse(client, {Refusal::not_supported, "a connection serves one group"});
  if (const auto found = groups_.find(key); found != groups_.end()) {
    if (const auto refused = why_not_in(found->second, request)) return refuse(client, *refused);
    found->second.joined.emplace(request.worker, id);
  } else {
    // With its first member: without memory for that one nothing stays of the group.
    groups_.emplace(key, new_group(key, request, id));
  }
  client.group = key;
  ServerGroup& group = groups_.at(key);
  group.payload_bytes = std::min(group.payload_bytes, asked_payload(request));
  group.slots = std::min(group.slots, request.slots);
  if (setup_.parent)
    ask_parent(group, request);
  else if (group.joined.size() == group.workers)
    admit(group);
}

ServerGroup ControlServer::new_group(GroupKey key, const Join& request, ClientId id) const {
  ServerGroup group;
  group.key = key;
  group.job = request.job;
  group.workers = request.workers;
  group.joined.emplace(request.worker, id);
  group.payload_bytes = std::min(setup_.limits.payload_bytes, plane_.most_payload_bytes());
  group.slots = setup_.limits.group_slots;
  group.since = Clock::now();
  return group;
}

/// Refusals that do not depend on who is in the group already.
std::optional<Refused> ControlServer::why_not(const Join& request) const {
  if (request.workers == 0 || request.workers > 64 || request.worker >= request.workers)
    return Refused{Refusal::not_supported, "worker " + std::to_string(request.worker) + " of " +
                                               std::to_string(request.workers) +
                                               "; a group has 1 to 64 workers"};
  if (plane_.takes_messages() && request.message_bytes == 0)
    return Refused{Refusal::not_supported,
                   "this worker sends no active messages: it was built without UCX"};
  if (asked_payload(request) < 8 || request.slots == 0)
    return Refused{Refusal::not_supported, "payloads without words, or no slots"};
  return why_no_new_group(request);
}

std::optional<Refused> ControlServer::why_no_new_group(const Join& request) const {
  const GroupKey key{job_of(request.job), request.group};
  std::set<std::uint64_t> jobs;
  for (const auto& [other, group] : groups_) {
    jobs.insert(other.job);
    if (other.job == key.job && group.job != request.job)
      return Refused{Refusal::wrong_key, "a job with another key has this number"};
  }
  if (groups_.contains(key)) return std::nullopt;
  if (groups_.size() >= setup_.limits.groups)
    return Refused{Refusal::no_resources,
                   "all " + std::to_string(setup_.limits.groups) + " groups are taken"};
  if (!jobs.contains(key.job) && jobs.size() >= setup_.limits.jobs)
    return Refused{Refusal::no_resources,
                   "all " + std::to_string(setup_.limits.jobs) + " jobs are taken"};
  if (plane_.free_slots() == 0)
    return Refused{Refusal::no_resources,
                   "all " + std::to_string(plane_.slots()) + " slots are taken"};
  return std::nullopt;
}

std::optional<Refused> ControlServer::why_not_in(const ServerGroup& group, const Join& request) {
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
