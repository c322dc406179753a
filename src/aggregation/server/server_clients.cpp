#include "aggregation/server/server_clients.hpp"

#include "base/log.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace cohom::offload {

namespace {

/// Then those who are there are served; so somebody who is quick is not thrown out by a flood.
constexpr int max_accepted_at_once = 32;

FileDescriptor duplicate(int socket) {
  FileDescriptor copy(::fcntl(socket, F_DUPFD_CLOEXEC, 0));
  if (!copy.is_open()) throw_system_error("fcntl");
  return copy;
}

}  // namespace

ServerClients::ServerClients(const ServerSetup& setup, ServerJournal& journal)
    : limits_(setup.limits),
      journal_(journal),
      listener_(setup.listener < 0 ? listen_on(setup.listen) : duplicate(setup.listener)),
      handshakes_(setup, journal) {}

sockaddr_in ServerClients::address() const {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw_system_error("getsockname");
  return address;
}

bool ServerClients::add_descriptors(std::vector<pollfd>& waiting) const {
  if (may_accept() && !no_descriptors_) waiting.push_back({listener_.get(), POLLIN, 0});
  if (handshakes_.descriptor() >= 0) waiting.push_back({handshakes_.descriptor(), POLLIN, 0});
  bool busy = false;
  for (const auto& [id, client] : clients_) {
    // What is not read is not waited for either; else the loop would not sleep.
    const int event = client.connection.wants_to_write() ? POLLOUT
                      : client.waits()                   ? POLLRDHUP
                                                         : POLLIN;
    waiting.push_back({client.connection.descriptor(), short(event), 0});
    busy |= client.gone;
  }
  return busy;
}

ServerClients::Clock::time_point ServerClients::next_deadline(Clock::time_point next) const {
  const auto now = Clock::now();
  for (const auto& [id, client] : clients_) {
    const auto due = client.held ? journal_.sources.answer_at(client.source, now)
                                 : deadline_of(client).value_or(next);
    next = std::min(next, due);
  }
  return next;
}

void ServerClients::take_verdicts() {
  for (const CredentialJudge::Verdict& verdict : handshakes_.verdicts())
    // It may have gone meanwhile.
    if (const auto found = clients_.find(verdict.client); found != clients_.end())
      journal_.guarded(found->second, [&] { handshakes_.take_verdict(found->second, verdict); });
}

void ServerClients::accept() {
  no_descriptors_ = false;
  for (int i = 0; i < max_accepted_at_once && may_accept(); ++i) {
    sockaddr_in peer{};
    socklen_t size = sizeof peer;
    FileDescriptor socket(::accept4(listener_.get(), reinterpret_cast<sockaddr*>(&peer), &size,
                                    SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.is_open()) {
      no_descriptors_ = errno == EMFILE || errno == ENFILE;
      if (no_descriptors_)
        warn_once(std::string("no more connections can be taken: ") + std::strerror(errno) +
                  " (ulimit -n)");
      return;
    }
    ServerClient client;
    client.source = peer.sin_addr.s_addr;
    client.since = Clock::now();
    journal_.guarded(client, [&] {
      client.peer = text_of(peer);
      keep_alive(socket);
      client.connection = {std::move(socket), max_request_bytes};
      if (replace_oldest(client)) clients_.emplace(next_client_++, std::move(client));
    });
  }
}

/// Those who have proven themselves are not thrown out for others.
bool ServerClients::may_accept() const {
  return clients_.size() < limits_.connections ||
         std::ranges::any_of(clients_, [](const auto& entry) { return !entry.second.proven; });
}

/// Throws out whom the newcomer takes the place of; false: it is the newcomer who goes. Those
/// without a proof have a share of their own, so they leave the rest to those with one; and no
/// source takes all.
bool ServerClients::replace_oldest(ServerClient& newcomer) {
  std::size_t unproven = 0;
  std::map<std::uint32_t, std::size_t> of_source, unproven_of_source;
  for (const auto& [id, client] : clients_) {
    ++of_source[client.source];
    unproven += client.proven ? 0 : 1;
    unproven_of_source[client.source] += client.proven ? 0 : 1;
  }
  const std::uint32_t source = newcomer.source;
  const bool source_is_full = of_source[source] >= limits_.share_of_source();
  if (source_is_full && unproven_of_source[source] == 0) {
    ++journal_.counts.thrown_out;
    journal_.refuse(newcomer, {Refusal::no_resources,
                               "this address has all of its " +
                                   std::to_string(limits_.share_of_source()) + " connections"});
    return false;
  }
  if (source_is_full || unproven_of_source[source] >= limits_.unproven_of_source())
    throw_out_oldest(source);
  else if (unproven >= limits_.unproven() || clients_.size() >= limits_.connections)
    throw_out_oldest(std::ranges::max_element(unproven_of_source, {}, [](const auto& entry) {
                       return entry.second;
                     })->first);
  return true;
}

/// Of a source's connections without a proof: first those that have said nothing.
void ServerClients::throw_out_oldest(std::uint32_t source) {
  auto victim = clients_.end();
  const auto order = [](const ServerClient& client) {
    return std::pair(client.handshake.begun() || client.held.has_value(), client.since);
  };
  for (auto i = clients_.begin(); i != clients_.end(); ++i)
    if (i->second.source == source && !i->second.proven &&
        (victim == clients_.end() || order(i->second) < order(victim->second)))
      victim = i;
  if (victim == clients_.end()) return;
  ++journal_.counts.thrown_out;
  journal_.report(victim->second, "thrown out for a newer connection: it has not proven itself");
  clients_.erase(victim);
}

void ServerClients::serve(const Handler& handler) {
  for (auto& [id, client] : clients_) serve(id, client, handler);
}

void ServerClients::serve(ClientId id, ServerClient& client, const Handler& handler) {
  client.connection.write();
  if (client.leaving && !client.connection.wants_to_write()) client.gone = true;
  if (client.gone) return;
  journal_.guarded(client, [&] {
    if (client.waits()) {
      client.gone = client.connection.hung_up();
      if (client.gone) return;  // it takes no turn
      if (client.held) handshakes_.begin_in_turn(client);
    }
    // One read, and only when no whole message is left of those before.
    for (bool has_read = false; client.is_read();) {
      if (const auto message = client.connection.next()) {
        if (client.proven)
          handler(id, client, *message);
        else
          handshakes_.take(id, client, *message);
      } else {
        if (std::exchange(has_read, true)) break;
        client.gone |= !client.connection.read();
      }
    }
  });
}

void ServerClients::dismiss(GroupKey group, const Refused& why) {
  for (auto& entry : clients_) {
    ServerClient& client = entry.second;
    if (client.group != group) continue;
    client.group.reset();
    client.since = Clock::now();
    client.leaving = true;
    journal_.guarded(client, [&] { client.connection.send(why); });
  }
}

/// When a connection that has not done what it is to do must go; none: it may stay.
std::optional<ServerClients::Clock::time_point> ServerClients::deadline_of(
    const ServerClient& client) const {
  if (client.held) return std::nullopt;
  if (!client.proven || client.leaving) return client.since + limits_.handshake;
  if (!client.group) return client.since + limits_.patience;
  return std::nullopt;
}

void ServerClients::mark_waiting() {
  const auto now = Clock::now();
  for (auto& [id, client] : clients_)
    if (const auto deadline = deadline_of(client); deadline && now > *deadline) {
      if (!client.proven && !client.leaving)
        journal_.report(client, "has not proven itself in time");
      client.gone = true;
    }
}

void ServerClients::for_gone_members(const std::function<void(ClientId, GroupKey)>& action) const {
  for (const auto& [id, client] : clients_)
    if (client.gone && client.group) action(id, *client.group);
}

void ServerClients::remove_gone() {
  std::erase_if(clients_, [](const auto& entry) { return entry.second.gone; });
}

void ServerClients::close() {
  clients_.clear();
  listener_.reset();
}

}  // namespace cohom::offload
