#pragma once
// ServerJournal: what the control server counts, logs and remembers of who comes.

#include "aggregation/server/log_budget.hpp"
#include "aggregation/server/server_client.hpp"
#include "aggregation/server/source_records.hpp"

#include <chrono>
#include <concepts>
#include <cstdint>
#include <exception>
#include <string_view>

namespace cohom::offload {

struct ServerCounts {
  std::uint64_t thrown_out = 0, admitted = 0, refused = 0, gone = 0, wrong_tokens = 0,
                wrong_keys = 0, bad_messages = 0;
};

class ServerJournal {
 public:
  explicit ServerJournal(const SourceLimits& limits) : sources(limits) {}

  /// Tells the client so, which has to go then.
  void refuse(ServerClient& client, const Refused& refused);
  /// Warns of what a client did, one line a source and minute.
  void report(const ServerClient& client, std::string_view text) noexcept;
  /// Logs what goes on, so many lines a minute.
  void note(std::string_view text) noexcept;
  /// What fails in an action, for want of memory, too, costs this client, not all of them.
  void guarded(ServerClient& client, const std::invocable auto& action) {
    try {
      action();
    } catch (const std::exception& error) {
      client.gone = true;
      ++counts.bad_messages;
      report(client, error.what());
    }
  }

  ServerCounts counts;
  SourceRecords sources;

 private:
  using Clock = ServerClient::Clock;
  LogBudget notes_{max_notes, std::chrono::minutes(1)};
};

}  // namespace cohom::offload
