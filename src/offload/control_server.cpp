#include "offload/control_server.hpp"

#include "log.hpp"

#include <cohom/error.hpp>

#include <spdlog/spdlog.h>
#include <nlohmann/json.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

namespace cohom::offload {

namespace {

constexpr int idle_milliseconds = 500;
constexpr int busy_milliseconds = 10;  ///< while a parent is being met

FileDescriptor make_event() {
  FileDescriptor event(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!event.open()) throw_system_error("eventfd");
  return event;
}

}  // namespace

ControlServer::ControlServer(const ServerSetup& setup, DataPlane& plane)
    : setup_(setup),
      plane_(plane),
      listener_(listen_on(setup.listen)),
      stop_event_(make_event()),
      next_epoch_(random_()) {}

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
  const std::uint64_t one = 1;
  // It can fail only when the event is set already.
  [[maybe_unused]] const ssize_t written = ::write(stop_event_.get(), &one, sizeof one);
}

void ControlServer::run() {
  while (!stopping_) {
    wait();
    accept_clients();
    for (auto& [id, client] : clients_) serve(id, client);
    std::vector<GroupKey> keys;
    for (const auto& [key, group] : groups_) keys.push_back(key);
    for (const GroupKey& key : keys) {
      if (const auto found = groups_.find(key); found != groups_.end()) serve_parent(found->second);
      if (const auto found = groups_.find(key); found != groups_.end()) advance(found->second);
    }
    dissolve_late_groups();
    remove_late_clients();
    remove_gone_clients();
  }
  while (!groups_.empty())
    dissolve(groups_.begin()->first, {Refusal::gone, "the aggregator was stopped"});
  clients_.clear();
  listener_.reset();
}

/// Sleeps until something happens or it is time to look.
void ControlServer::wait() {
  std::vector<pollfd> waiting{{stop_event_.get(), POLLIN, 0}};
  if (clients_.size() < setup_.limits.connections && !no_descriptors_)
    waiting.push_back({listener_.get(), POLLIN, 0});
  const auto add = [&](const Connection& connection, bool connecting) {
    const bool writes = connecting || connection.wants_to_write();
    waiting.push_back({connection.descriptor(), short(writes ? POLLIN | POLLOUT : POLLIN), 0});
  };
  bool busy = false;
  for (const auto& [id, client] : clients_) {
    add(client.connection, false);
    busy |= client.gone;
  }
  for (const auto& [key, group] : groups_) {
    if (!group.uplink) continue;
    add(group.uplink->connection, group.uplink->connecting);
    busy |= group.state == GroupState::greeting && !group.uplink->said_ready;
  }
  ::poll(waiting.data(), waiting.size(), busy ? busy_milliseconds : idle_milliseconds);
}

void ControlServer::accept_clients() {
  no_descriptors_ = false;
  while (clients_.size() < setup_.limits.connections) {
    sockaddr_in peer{};
    socklen_t size = sizeof peer;
    FileDescriptor socket(::accept4(listener_.get(), reinterpret_cast<sockaddr*>(&peer), &size,
                                    SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.open()) {
      no_descriptors_ = errno == EMFILE || errno == ENFILE;
      if (no_descriptors_)
        warn_once(std::string("no more connections can be taken: ") + std::strerror(errno) +
                  " (ulimit -n)");
      return;
    }
    keep_alive(socket);
    Client& client = clients_[next_client_++];
    client.connection = {std::move(socket), most_request_bytes};
    client.peer = text_of(peer);
    client.since = Clock::now();
  }
}

void ControlServer::serve(ClientId id, Client& client) {
  client.connection.write();
  if (client.leaving && !client.connection.wants_to_write()) client.gone = true;
  if (client.gone) return;
  const bool alive = client.connection.read();
  try {
    while (!client.leaving) {
      const auto message = client.connection.next();
      if (!message) break;
      handle(id, client, *message);
    }
  } catch (const Error& error) {
    ++counts_.bad_messages;
    log().warn("{}: {}", client.peer, error.what());
    client.gone = true;
  }
  client.gone |= !alive;
}

void ControlServer::handle(ClientId id, Client& client, const Message& message) {
  client.asked = true;
  if (const auto* request = std::get_if<Join>(&message)) return join(id, client, *request);
  if (const auto* request = std::get_if<StatusRequest>(&message)) {
    if (!same_token(request->token, setup_.token))
      return refuse(client, {Refusal::wrong_token, "the status is told to those with the token"});
    client.connection.send(Status{status().dump()});
    client.leaving = true;
    return;
  }
  if (std::holds_alternative<Ready>(message) && client.group) {
    ServerGroup& group = groups_.at(*client.group);
    if (group.state == GroupState::greeting) {
      group.ready.insert(id);
      return;
    }
  }
  throw Error(ErrorKind::transport, "a control message that has no meaning here");
}

void ControlServer::refuse(Client& client, const Refused& refused) {
  ++(refused.reason == Refusal::wrong_token ? counts_.wrong_tokens : counts_.refused);
  log().info("{} refused: {}: {}", client.peer, name_of(refused.reason), refused.text);
  client.connection.send(refused);
  client.leaving = true;
}

std::uint32_t ControlServer::asked_payload(const Join& request) const {
  return plane_.takes_messages() ? request.message_bytes : request.payload_bytes;
}

void ControlServer::join(ClientId id, Client& client, const Join& request) {
  if (const auto refused = why_not(request)) return refuse(client, *refused);
  const GroupKey key{request.job, request.group};
  if (client.group && *client.group != key)
    return refuse(client, {Refusal::not_supported, "a connection serves one group"});
  const auto [found, is_new] = groups_.try_emplace(key);
  ServerGroup& group = found->second;
  if (is_new) {
    group.key = key;
    group.workers = request.workers;
    group.payload_bytes = std::min(setup_.limits.payload_bytes, plane_.most_payload_bytes());
    group.slots = setup_.limits.group_slots;
    group.since = Clock::now();
  }
  if (const auto refused = why_not_in(group, request)) return refuse(client, *refused);
  client.group = key;
  group.joined.emplace(request.worker, id);
  group.payload_bytes = std::min(group.payload_bytes, asked_payload(request));
  group.slots = std::min(group.slots, request.slots);
  if (setup_.parent)
    ask_parent(group, request);
  else if (group.joined.size() == group.workers)
    admit(group);
}

/// Refusals that do not depend on who is in the group already.
std::optional<Refused> ControlServer::why_not(const Join& request) const {
  if (!same_token(request.token, setup_.token))
    return Refused{Refusal::wrong_token, "the token is not this aggregator's"};
  if (request.version != control_version)
    return Refused{Refusal::not_supported, "control channel of version " +
                                               std::to_string(request.version) + ", here is " +
                                               std::to_string(control_version)};
  if (request.workers == 0 || request.workers > 64 || request.worker >= request.workers)
    return Refused{Refusal::not_supported, "worker " + std::to_string(request.worker) + " of " +
                                               std::to_string(request.workers) +
                                               "; a group has 1 to 64 workers"};
  if (plane_.takes_messages() && request.message_bytes == 0)
    return Refused{Refusal::not_supported,
                   "this worker sends no active messages: it was built without UCX"};
  if (asked_payload(request) < 8 || request.slots == 0)
    return Refused{Refusal::not_supported, "payloads without words, or no slots"};
  const GroupKey key{request.job, request.group};
  if (groups_.contains(key)) return std::nullopt;
  std::set<std::uint64_t> jobs;
  for (const auto& [other, group] : groups_) jobs.insert(other.job);
  if (groups_.size() >= setup_.limits.groups)
    return Refused{Refusal::no_resources,
                   "all " + std::to_string(setup_.limits.groups) + " groups are taken"};
  if (!jobs.contains(request.job) && jobs.size() >= setup_.limits.jobs)
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

void ControlServer::remove_late_clients() {
  const auto now = Clock::now();
  for (auto& [id, client] : clients_)
    if ((!client.asked || client.leaving) && now - client.since > setup_.limits.patience)
      client.gone = true;
}

void ControlServer::remove_gone_clients() {
  for (auto& [id, client] : clients_) {
    if (!client.gone || !client.group) continue;
    const ServerGroup& group = groups_.at(*client.group);
    const auto worker = std::ranges::find_if(
        group.joined, [id = id](const auto& member) { return member.second == id; });
    ++counts_.gone;
    dissolve(*client.group,
             {Refusal::gone, "worker " + std::to_string(worker->first) + " has left"});
  }
  std::erase_if(clients_, [](const auto& entry) { return entry.second.gone; });
}

}  // namespace cohom::offload
