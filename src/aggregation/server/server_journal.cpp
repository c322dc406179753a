#include "aggregation/server/server_journal.hpp"

#include "base/log.hpp"

#include <spdlog/spdlog.h>

#include <string>

namespace cohom::offload {

void ServerJournal::refuse(ServerClient& client, const Refused& refused) {
  const bool is_stranger =
      refused.reason == Refusal::wrong_token || refused.reason == Refusal::wrong_user;
  ++(is_stranger                            ? counts.wrong_tokens
     : refused.reason == Refusal::wrong_key ? counts.wrong_keys
                                            : counts.refused);
  if (is_stranger) sources.wrong_token(client.source, Clock::now());
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

void ServerJournal::report(const ServerClient& client, std::string_view text) noexcept {
  if (!log().should_log(spdlog::level::warn)) return;
  try {
    if (const auto more = sources.log_line(client.source, Clock::now()))
      log().warn("{}: {}{}", client.peer, text, *more);
  } catch (const std::exception&) {  // without memory for the line it is left out
  }
}

void ServerJournal::note(std::string_view text) noexcept {
  if (!log().should_log(spdlog::level::info)) return;
  try {
    if (const auto more = notes_.take(Clock::now())) log().info("{}{}", text, *more);
  } catch (const std::exception&) {  // likewise
  }
}

}  // namespace cohom::offload
