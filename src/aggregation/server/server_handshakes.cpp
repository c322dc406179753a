#include "aggregation/server/server_handshakes.hpp"

#include <cohom/error.hpp>

#include <unistd.h>

#include <string>
#include <utility>

namespace cohom::offload {

ServerHandshakes::ServerHandshakes(const ServerSetup& setup, ServerJournal& journal)
    : setup_(setup), journal_(journal) {
  if (setup.munge) judge_.emplace();
}

void ServerHandshakes::take(ClientId id, ServerClient& client, const Message& message) {
  if (const auto* begun = std::get_if<Begin>(&message); begun && !client.handshake.begun()) {
    if (begun->version != control_version)
      return journal_.refuse(
          client,
          {Refusal::not_supported, "control channel of version " + std::to_string(begun->version) +
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

void ServerHandshakes::take_token(ServerClient& client, const Proof& proof) {
  const bool as_operator = proof.credential == Credential::operator_token;
  if (!as_operator && setup_.munge)
    return journal_.refuse(client, {Refusal::wrong_token,
                                    "this aggregator takes credentials of munge, and no token "
                                    "(COHOM_AGGREGATOR_AUTH=munge)"});
  const auto answer =
      client.handshake.judge(proof, as_operator ? setup_.operator_token : setup_.token);
  if (!answer)
    return journal_.refuse(
        client, {Refusal::wrong_token, as_operator ? "the operator's token is not this aggregator's"
                                                   : "the token is not this aggregator's"});
  welcome(client, *answer, as_operator);
}

void ServerHandshakes::ask_munged(ClientId id, ServerClient& client,
                                  const MungeCredential& message) {
  if (!judge_)
    return journal_.refuse(client, {Refusal::wrong_token,
                                    "this aggregator takes a token, and no credentials of munge "
                                    "(COHOM_AGGREGATOR_AUTH=token)"});
  // Also of those who have gone: a question stays.
  if (judge_->waiting() >= setup_.limits.unproven())
    return journal_.refuse(client,
                           {Refusal::no_resources, "munged is slow, and others wait for it"});
  const auto texts = client.handshake.munge_texts();
  if (!texts) throw Error(ErrorKind::transport, "a second proof");
  client.is_judged = true;
  judge_->ask({id, message.credential, texts->client, texts->server});
}

std::vector<CredentialJudge::Verdict> ServerHandshakes::verdicts() {
  return judge_ ? judge_->take() : std::vector<CredentialJudge::Verdict>{};
}

void ServerHandshakes::take_verdict(ServerClient& client, const CredentialJudge::Verdict& verdict) {
  client.is_judged = false;
  if (!verdict.user) {
    if (!verdict.is_wrong) journal_.report(client, verdict.why_not);
    return journal_.refuse(
        client, {verdict.is_wrong ? Refusal::wrong_token : Refusal::no_resources, verdict.why_not});
  }
  if (!setup_.munge->contains(*verdict.user))
    return journal_.refuse(client, {Refusal::wrong_user, "user " + std::to_string(*verdict.user) +
                                                             " may not use this aggregator "
                                                             "(--munge-users)"});
  welcome(client, MungeCredential{verdict.credential},
          *verdict.user == 0 || *verdict.user == ::geteuid());
}

void ServerHandshakes::welcome(ServerClient& client, const Message& message, bool is_operator) {
  journal_.sources.right_token(client.source);
  client.proven = true;
  client.is_operator = is_operator;
  client.since = ServerClient::Clock::now();
  client.connection.send(message);
}

void ServerHandshakes::begin_in_turn(ServerClient& client) {
  const auto now = ServerClient::Clock::now();
  if (journal_.sources.answer_at(client.source, now) > now) return;
  journal_.sources.answered(client.source, now);
  client.since = now;  // it waited for us
  client.connection.send(client.handshake.challenge(*std::exchange(client.held, std::nullopt)));
}

}  // namespace cohom::offload
