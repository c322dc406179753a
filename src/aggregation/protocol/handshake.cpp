#include "aggregation/protocol/handshake.hpp"

#include "aggregation/auth/munge.hpp"

#include <cohom/error.hpp>

#include <utility>

namespace cohom::offload {

namespace {

/// The labels differ, so that no proof serves as another one.
Mac proof_of(std::string_view who, Credential credential, std::string_view token,
             const Nonce& client, const Nonce& server) {
  std::string text = "cohom control 3 ";
  text += who;
  text += static_cast<char>(credential);
  text += as_text(client);
  text += as_text(server);
  return mac_of(token, text);
}

std::string munge_text_of(std::string_view who, const Nonce& client, const Nonce& server) {
  std::string text = "cohom control 3 munge ";
  text += who;
  text += as_text(client);
  text += as_text(server);
  return text;
}

std::string status_text_of(const Nonce& client, const Nonce& server) {
  std::string text = "cohom status 3 ";
  text += as_text(client);
  text += as_text(server);
  return text;
}

constexpr std::string_view of_client = "client", of_server = "server";

void append(std::string& text, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) text += static_cast<char>(value >> shift & 0xff);
}

}  // namespace

std::optional<Message> ClientHandshake::answer(const Message& message) {
  if (const auto* challenge = std::get_if<Challenge>(&message); challenge && !challenged_) {
    if (challenge->version != control_version)
      throw Error(ErrorKind::transport, "its control channel has version " +
                                            std::to_string(challenge->version) + ", here is " +
                                            std::to_string(control_version));
    challenged_ = true;
    server_nonce_ = challenge->nonce;
    if (munge_)
      return MungeCredential{make_credential(munge_text_of(of_client, nonce_, server_nonce_))};
    return Proof{credential_, proof_of(of_client, credential_, token_, nonce_, server_nonce_)};
  }
  if (!challenged_ || done_) throw_meaningless_message();
  check(message);
  done_ = true;
  return std::nullopt;
}

/// Whose credential it is. @throws Error(transport)
uid_t ClientHandshake::server_of(const MungeCredential& proof) const {
  try {
    return user_of_credential(proof.credential, munge_text_of(of_server, nonce_, server_nonce_));
  } catch (const Error& error) {
    throw Error(ErrorKind::transport, error.what());
  }
}

/// Whether the server has proven itself.
void ClientHandshake::check(const Message& message) const {
  const auto refuse = [](const std::string& text) { throw Error(ErrorKind::transport, text); };
  if (const auto* welcome = std::get_if<Welcome>(&message); welcome && !munge_) {
    if (!same(welcome->mac, proof_of(of_server, credential_, token_, nonce_, server_nonce_)))
      refuse("it does not know the token: it is not the aggregator");
  } else if (const auto* proof = std::get_if<MungeCredential>(&message); proof && munge_) {
    const uid_t user = server_of(*proof);
    if (!munge_->contains(user))
      refuse("it runs as user " + std::to_string(user) + ", and is to run as " + munge_->text() +
             " (COHOM_AGGREGATOR_MUNGE_USERS): it is not the aggregator");
  } else {
    throw_meaningless_message();
  }
}

std::string ClientHandshake::status_statement() const {
  return status_text_of(nonce_, server_nonce_);
}

Challenge ServerHandshake::challenge(const Begin& begin) {
  begun_ = true;
  client_nonce_ = begin.nonce;
  nonce_ = random_nonce();
  return {.version = control_version, .nonce = nonce_};
}

std::optional<Welcome> ServerHandshake::judge(const Proof& proof, std::string_view token) {
  if (!begun_ || std::exchange(judged_, true) || token.empty()) return std::nullopt;
  if (!same(proof.mac, proof_of(of_client, proof.credential, token, client_nonce_, nonce_)))
    return std::nullopt;
  return Welcome{proof_of(of_server, proof.credential, token, client_nonce_, nonce_)};
}

std::optional<ServerHandshake::MungeTexts> ServerHandshake::munge_texts() {
  if (!begun_ || std::exchange(judged_, true)) return std::nullopt;
  return MungeTexts{munge_text_of(of_client, client_nonce_, nonce_),
                    munge_text_of(of_server, client_nonce_, nonce_)};
}

std::string ServerHandshake::status_statement() const {
  return status_text_of(client_nonce_, nonce_);
}

std::string join_statement(const Join& join, const Nonce& nonce) {
  std::string text = "cohom join 3 ";
  text += as_text(nonce);
  text += as_text(join.job);
  append(text, join.group);
  append(text, join.worker);
  append(text, join.workers);
  return text;
}

}  // namespace cohom::offload
