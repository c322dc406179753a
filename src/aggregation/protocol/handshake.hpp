#pragma once
// How both ends of a control channel prove that they know the token, which never travels, or who
// they are, by munge; and how a worker proves that it is of its job (docs/offload-protocol.md).

#include "aggregation/auth/allowed_users.hpp"
#include "aggregation/protocol/control_message.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace cohom::offload {

/// The client's end, message by message.
class ClientHandshake {
 public:
  /// With `munge` both sides prove who they are in place of a token, and these users may be the
  /// server.
  explicit ClientHandshake(std::string token, Credential credential = Credential::token,
                           std::optional<AllowedUsers> munge = {})
      : token_(std::move(token)),
        credential_(credential),
        munge_(std::move(munge)),
        nonce_(random_nonce()) {}

  [[nodiscard]] Begin begin() const { return {.version = control_version, .nonce = nonce_}; }
  /// The answer to a message of the server; none: both have proven themselves.
  /// @throws Error(transport) for a server of another version, or one that does not know the token
  /// or is not of such a user.
  std::optional<Message> answer(const Message& message);
  [[nodiscard]] bool done() const { return done_; }
  /// What a job's key signs to be told of its job. Once it is done.
  [[nodiscard]] std::string status_statement() const;

 private:
  void check(const Message& message) const;
  [[nodiscard]] uid_t server_of(const MungeCredential& proof) const;

  std::string token_;
  Credential credential_;
  std::optional<AllowedUsers> munge_;
  Nonce nonce_;
  Nonce server_nonce_{};
  bool challenged_ = false, done_ = false;
};

/// The server's end, of one connection.
class ServerHandshake {
 public:
  [[nodiscard]] bool begun() const { return begun_; }
  [[nodiscard]] Challenge challenge(const Begin& begin);
  /// What the server proves itself with; none: the proof is wrong, and there is no second one.
  [[nodiscard]] std::optional<Welcome> judge(const Proof& proof, std::string_view token);
  /// What the credentials of munge are to be for.
  struct MungeTexts {
    std::string client, server;
  };
  /// None: there is no handshake to prove anything in, or there was a proof before.
  [[nodiscard]] std::optional<MungeTexts> munge_texts();
  [[nodiscard]] std::string status_statement() const;

 private:
  Nonce client_nonce_{}, nonce_{};
  bool begun_ = false, judged_ = false;
};

/// What a job's key signs for one of its workers, at every aggregator up to the root, each of which
/// draws a nonce of its own.
std::string join_statement(const Join& join, const Nonce& nonce);

}  // namespace cohom::offload
