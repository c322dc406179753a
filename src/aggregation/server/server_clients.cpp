// ControlServer: its connections: who may come, who must go, and who has proven what.

#include "aggregation/server/control_server.hpp"

#include "base/log.hpp"

#include <cohom/error.hpp>

#include <spdlog/spdlog.h>

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace cohom::offload {

namespace {

/// Then those who are there are served; so somebody who is quick is not thrown out by a flood.
constexpr int max_accepted_at_once = 32;

}  // namespace

void ControlServer::accept_clients() {
  no_descriptors_ = false;
  for (int i = 0; i < max_accepted_at_once && may_accept(); ++i) {
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
    Client client;
    client.source = peer.sin_addr.s_addr;
    client.since = Clock::now();
    guarded(client, [&] {
      client.peer = text_of(peer);
      keep_alive(socket);
      client.connection = {std::move(socket), most_request_bytes};
      if (make_way(client)) clients_.emplace(next_client_++, std::move(client));
    });
  }
}

/// Those who have proven themselves are not thrown out for others.
bool ControlServer::may_accept() const {
  return clients_.size() < setup_.limits.connections ||
         std::ranges::any_of(clients_, [](const auto& entry) { return !entry.second.proven; });
}

/// Throws out whom the newcomer takes the place of; false: it is the newcomer who goes. Those
/// without a proof have a share of their own, so they leave the rest to those with one; and no
/// source takes all.
bool ControlServer::make_way(Client& newcomer) {
  const ServerLimits& limits = setup_.limits;
  std::size_t unproven = 0;
  std::map<std::uint32_t, std::size_t> of_source, unproven_of_source;
  for (const auto& [id, client] : clients_) {
    ++of_source[client.source];
    unproven += client.proven ? 0 : 1;
    unproven_of_source[client.source] += client.proven ? 0 : 1;
  }
  const std::uint32_t source = newcomer.source;
  const bool source_is_full = of_source[source] >= limits.share_of_source();
  if (source_is_full && unproven_of_source[source] == 0) {
    ++counts_.thrown_out;
    refuse(newcomer,
           {Refusal::no_resources, "this address has all of its " +
                                       std::to_string(limits.share_of_source()) + " connections"});
    return false;
  }
  if (source_is_full || unproven_of_source[source] >= limits.unproven_of_source())
    throw_out_oldest(source);
  else if (unproven >= limits.unproven() || clients_.size() >= limits.connections)
    throw_out_oldest(std::ranges::max_element(unproven_of_source, {}, [](const auto& entry) {
                       return entry.second;
                     })->first);
  return true;
}

/// Of a source's connections without a proof: first those that have said nothing.
void ControlServer::throw_out_oldest(std::uint32_t source) {
  auto victim = clients_.end();
  const auto order = [](const Client& client) {
    return std::pair(client.handshake.begun() || client.held.has_value(), client.since);
  };
  for (auto i = clients_.begin(); i != clients_.end(); ++i)
    if (i->second.source == source && !i->second.proven &&
        (victim == clients_.end() || order(i->second) < order(victim->second)))
      victim = i;
  if (victim == clients_.end()) return;
  ++counts_.thrown_out;
  report(victim->second, "thrown out for a newer connection: it has not proven itself");
  clients_.erase(victim);
}

/// For its turn, or for munged.
bool ControlServer::waits(const Client& client) { return client.held || client.is_judged; }

/// Nothing is read for later: neither while a handshake waits, nor before the client has taken our
/// answer. So the client's own socket is what fills up, and no client makes us keep more than one
/// answer.
bool ControlServer::listens_to(const Client& client) {
  return !client.leaving && !waits(client) && !client.connection.wants_to_write();
}

void ControlServer::serve(ClientId id, Client& client) {
  client.connection.write();
  if (client.leaving && !client.connection.wants_to_write()) client.gone = true;
  if (client.gone) return;
  guarded(client, [&] {
    if (waits(client)) {
      client.gone = client.connection.hung_up();
      if (client.gone) return;  // it takes no turn
      if (client.held) begin_in_turn(client);
    }
    // One read, and only when no whole message is left of those before.
    for (bool has_read = false; listens_to(client);) {
      if (const auto message = client.connection.next()) {
        handle(id, client, *message);
      } else {
        if (std::exchange(has_read, true)) break;
        client.gone |= !client.connection.read();
      }
    }
  });
}

/// Until the client has proven itself nothing else is taken from it.
void ControlServer::shake_hands(ClientId id, Client& client, const Message& message) {
  if (const auto* begun = std::get_if<Begin>(&message); begun && !client.handshake.begun()) {
    if (begun->version != control_version)
      return refuse(client, {Refusal::not_supported,
                             "control channel of version " + std::to_string(begun->version) +
                                 ", here is " + std::to_string(control_version)});
    // Behind wrong tokens handshakes of a source wait, right ones as well: they cannot be told
    // apart.
    client.held = *begun;
    return begin_in_turn(client);
  }
  if (const auto* proof = std::get_if<Proof>(&message); proof && client.handshake.begun())
    return take_token(client, *proof);
  if (const auto* proof = std::get_if<MungeCredential>(&message); proof && client.handshake.begun())
    return ask_munged(id, client, *proof);
  throw_meaningless_message();
}

void ControlServer::take_token(Client& client, const Proof& proof) {
  const bool as_operator = proof.credential == Credential::operator_token;
  if (!as_operator && setup_.munge)
    return refuse(client, {Refusal::wrong_token,
                           "this aggregator takes credentials of munge, and no token "
                           "(COHOM_AGGREGATOR_AUTH=munge)"});
  const auto answer =
      client.handshake.judge(proof, as_operator ? setup_.operator_token : setup_.token);
  if (!answer)
    return refuse(
        client, {Refusal::wrong_token, as_operator ? "the operator's token is not this aggregator's"
                                                   : "the token is not this aggregator's"});
  welcome(client, *answer, as_operator);
}

void ControlServer::ask_munged(ClientId id, Client& client, const MungeCredential& message) {
  if (!judge_)
    return refuse(client, {Refusal::wrong_token,
                           "this aggregator takes a token, and no credentials of munge "
                           "(COHOM_AGGREGATOR_AUTH=token)"});
  // Also of those who have gone: a question stays.
  if (judge_->waiting() >= setup_.limits.unproven())
    return refuse(client, {Refusal::no_resources, "munged is slow, and others wait for it"});
  const auto texts = client.handshake.munge_texts();
  if (!texts) throw Error(ErrorKind::transport, "a second proof");
  client.is_judged = true;
  judge_->ask({id, message.credential, texts->client, texts->server});
}

void ControlServer::take_verdicts() {
  if (!judge_) return;
  for (const CredentialJudge::Verdict& verdict : judge_->take())
    // It may have gone meanwhile.
    if (const auto found = clients_.find(verdict.client); found != clients_.end())
      guarded(found->second, [&] { take_verdict(found->second, verdict); });
}

void ControlServer::take_verdict(Client& client, const CredentialJudge::Verdict& verdict) {
  client.is_judged = false;
  if (!verdict.user) {
    if (!verdict.is_wrong) report(client, verdict.why_not);
    return refuse(
        client, {verdict.is_wrong ? Refusal::wrong_token : Refusal::no_resources, verdict.why_not});
  }
  if (!setup_.munge->contains(*verdict.user))
    return refuse(client,
                  {Refusal::wrong_user, "user " + std::to_string(*verdict.user) +
                                            " may not use this aggregator (--munge-users)"});
  welcome(client, MungeCredential{verdict.credential},
          *verdict.user == 0 || *verdict.user == ::geteuid());
}

void ControlServer::welcome(Client& client, const Message& message, bool is_operator) {
  sources_.right_token(client.source);
  client.proven = true;
  client.is_operator = is_operator;
  client.since = Clock::now();
  client.connection.send(message);
}

void ControlServer::begin_in_turn(Client& client) {
  const auto now = Clock::now();
  if (sources_.answer_at(client.source, now) > now) return;
  sources_.answered(client.source, now);
  client.since = now;  // it waited for us
  client.connection.send(client.handshake.challenge(*std::exchange(client.held, std::nullopt)));
}

void ControlServer::refuse(Client& client, const Refused& refused) {
  const bool is_stranger =
      refused.reason == Refusal::wrong_token || refused.reason == Refusal::wrong_user;
  ++(is_stranger                            ? counts_.wrong_tokens
     : refused.reason == Refusal::wrong_key ? counts_.wrong_keys
                                            : counts_.refused);
  if (is_stranger) sources_.wrong_token(client.source, Clock::now());
  const std::string text = std::string(name_of(refused.reason)) + ": " + refused.text;
  // The rest is the refused one's own business, which it is told.
  if (is_stranger || refused.reason == Refusal::wrong_key)
    report(client, text);
  else
    note(client.peer + " refused: " + text);
  client.connection.send(refused);
  client.since = Clock::now();  // it may take its time to read that
  client.leaving = true;
}

void ControlServer::report(const Client& client, std::string_view text) noexcept {
  if (!log().should_log(spdlog::level::warn)) return;
  try {
    if (const auto more = sources_.log_line(client.source, Clock::now()))
      log().warn("{}: {}{}", client.peer, text, *more);
  } catch (const std::exception&) {  // without memory for the line it is left out
  }
}

void ControlServer::note(std::string_view text) noexcept {
  if (!log().should_log(spdlog::level::info)) return;
  try {
    if (const auto more = notes_.take(Clock::now())) log().info("{}{}", text, *more);
  } catch (const std::exception&) {  // likewise
  }
}

/// When a connection that has not done what it is to do must go; none: it may stay.
std::optional<ControlServer::Clock::time_point> ControlServer::deadline_of(
    const Client& client) const {
  if (client.held) return std::nullopt;
  if (!client.proven || client.leaving) return client.since + setup_.limits.handshake;
  if (!client.group) return client.since + setup_.limits.patience;
  return std::nullopt;
}

void ControlServer::remove_late_clients() {
  const auto now = Clock::now();
  for (auto& [id, client] : clients_)
    if (const auto deadline = deadline_of(client); deadline && now > *deadline) {
      if (!client.proven && !client.leaving) report(client, "has not proven itself in time");
      client.gone = true;
    }
}

void ControlServer::remove_gone_clients() {
  for (auto& [id, client] : clients_) {
    if (!client.gone || !client.group) continue;
    const ServerGroup& group = groups_.at(*client.group);
    const auto worker = std::ranges::find_if(
        group.joined, [id = id](const auto& member) { return member.second == id; });
    ++counts_.gone;
    guarded(group.key, [&] {
      dissolve(group.key, {Refusal::gone, "worker " + std::to_string(worker->first) + " has left"});
    });
  }
  std::erase_if(clients_, [](const auto& entry) { return entry.second.gone; });
}

}  // namespace cohom::offload
