#pragma once
// SourceRecords: what the control server remembers of the addresses that connections come from:
// wrong tokens, and lines in the log. Bounded, however many there are.

#include "aggregation/server/log_budget.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace cohom::offload {

struct SourceLimits {
  /// After a wrong token handshakes of the source wait so long, and twice as long after each other
  /// one. They are answered one by one: the next so long after one that has proven nothing yet.
  std::chrono::milliseconds first_delay{100}, max_delay{4000};
  /// A source without a wrong token for so long begins anew.
  std::chrono::milliseconds memory{60000};
  /// One line a source in so long.
  std::chrono::milliseconds log_interval{60000};
  std::size_t sources = 4096;
};

class SourceRecords {
 public:
  using Clock = std::chrono::steady_clock;
  /// An IPv4 address.
  using Source = std::uint32_t;

  explicit SourceRecords(const SourceLimits& limits) : limits_(limits) {}

  void wrong_token(Source source, Clock::time_point now);
  /// When the next handshake of the source is answered.
  [[nodiscard]] Clock::time_point answer_at(Source source, Clock::time_point now) const;
  /// One has been: behind wrong tokens the next waits. Else many that wait would guess all at once.
  void answered(Source source, Clock::time_point now);
  /// That one was no guess, the next need not wait for it.
  void right_token(Source source);
  /// As LogBudget::take().
  std::optional<std::string> log_line(Source source, Clock::time_point now);
  [[nodiscard]] std::size_t size() const { return records_.size(); }

 private:
  struct Record {
    LogBudget lines;
    Clock::time_point last_use = {};
    std::uint32_t wrong_tokens = 0;
    Clock::time_point last_wrong = {}, blocked_until = {};
    Clock::time_point turn_until = {};  ///< of the handshake that was answered last
  };
  /// After so many wrong tokens.
  [[nodiscard]] std::chrono::milliseconds delay_after(std::uint32_t wrong_tokens) const;
  Record& record_of(Source source, Clock::time_point now);

  SourceLimits limits_;
  std::map<Source, Record> records_;
};

}  // namespace cohom::offload
