#pragma once
// ServerHandshakes: who has proven what, by a token or by munge.

#include "aggregation/server/credential_judge.hpp"
#include "aggregation/server/server_journal.hpp"
#include "aggregation/server/server_setup.hpp"

#include <optional>
#include <vector>

namespace cohom::offload {

class ServerHandshakes {
 public:
  /// Both outlive it. @throws what CredentialJudge's constructor does.
  ServerHandshakes(const ServerSetup& setup, ServerJournal& journal);

  /// A message of a client that has not proven itself: nothing else is taken from it until then.
  void take(ClientId id, ServerClient& client, const Message& message);
  /// Answers a handshake that is held, if its source has its turn.
  void begin_in_turn(ServerClient& client);

  /// Readable when munged has said something; negative: nobody asks it.
  [[nodiscard]] int descriptor() const { return judge_ ? judge_->descriptor() : -1; }
  /// Those that were not taken before.
  std::vector<CredentialJudge::Verdict> verdicts();
  void take_verdict(ServerClient& client, const CredentialJudge::Verdict& verdict);

 private:
  void take_token(ServerClient& client, const Proof& proof);
  void ask_munged(ClientId id, ServerClient& client, const MungeCredential& message);
  void welcome(ServerClient& client, const Message& message, bool is_operator);

  const ServerSetup& setup_;
  ServerJournal& journal_;
  std::optional<CredentialJudge> judge_;  ///< where munge is the way
};

}  // namespace cohom::offload
