#pragma once
// CredentialJudge: asks munged about the credentials of clients, so that who serves them does not
// wait.

#include "aggregation/net/event.hpp"

#include <sys/types.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace cohom::offload {

/// munged is another process, and one that is stuck keeps whoever asks it for 10 s. So a thread of
/// its own asks, one question at a time.
class CredentialJudge {
 public:
  struct Question {
    std::uint64_t client = 0;
    std::string credential;    ///< the client's
    std::string clients_text;  ///< what it is to be for
    std::string servers_text;  ///< what the server's is to be for
  };
  struct Verdict {
    std::uint64_t client = 0;
    std::optional<uid_t> user;  ///< who made the credential; none: nobody, or nobody knows
    std::string credential;     ///< the server's, for a right one
    bool is_wrong = false;      ///< rather than that munged does not answer
    std::string why_not;
  };

  /// @throws Error(transport) without descriptors, std::system_error without threads.
  CredentialJudge();
  ~CredentialJudge();
  CredentialJudge(const CredentialJudge&) = delete;
  CredentialJudge& operator=(const CredentialJudge&) = delete;

  void ask(Question question);
  /// Questions that munged has not been asked yet.
  [[nodiscard]] std::size_t waiting() const;
  /// Readable when there are verdicts.
  [[nodiscard]] int descriptor() const { return event_.descriptor(); }
  /// Those that were not taken before.
  std::vector<Verdict> take();

 private:
  void run(const std::stop_token& stop);

  Event event_;
  mutable std::mutex mutex_;
  std::condition_variable_any asked_;
  std::deque<Question> questions_;
  std::vector<Verdict> verdicts_;
  std::jthread thread_;
};

}  // namespace cohom::offload
