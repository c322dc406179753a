#pragma once
// How both ends of a control channel prove that they know the token, which never travels, and how a
// worker proves that it is of its job (docs/offload-protocol.md).

#include "offload/control_message.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace cohom::offload {

/// The client's end, message by message.
class ClientHandshake {
 public:
  explicit ClientHandshake(std::string token, Credential credential = Credential::token)
      : token_(std::move(token)), credential_(credential), nonce_(random_nonce()) {}

  [[nodiscard]] Begin begin() const { return {.version = control_version, .nonce = nonce_}; }
  /// The answer to a message of the server; none: both have proven themselves.
  /// @throws Error(transport) for a server of another version, or one that does not know the token.
  std::optional<Proof> answer(const Message& message);
  [[nodiscard]] bool done() const { return done_; }
  /// What a job's key signs to be told of its job. Once it is done.
  [[nodiscard]] std::string status_statement() const;

 private:
  std::string token_;
  Credential credential_;
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
  [[nodiscard]] std::string status_statement() const;

 private:
  Nonce client_nonce_{}, nonce_{};
  bool begun_ = false, judged_ = false;
};

/// What a job's key signs for one of its workers, at every aggregator up to the root, each of which draws
/// a nonce of its own.
std::string join_statement(const Join& join, const Nonce& nonce);

}  // namespace cohom::offload
