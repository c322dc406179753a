#include "aggregation/server/source_records.hpp"

#include <algorithm>

namespace cohom::offload {

void SourceRecords::wrong_token(Source source, Clock::time_point now) {
  Record& record = record_of(source, now);
  if (now - record.last_wrong > limits_.memory) record.wrong_tokens = 0;
  record.last_wrong = now;
  record.blocked_until = now + delay_after(++record.wrong_tokens);
}

SourceRecords::Clock::time_point SourceRecords::answer_at(Source source,
                                                          Clock::time_point now) const {
  const auto found = records_.find(source);
  if (found == records_.end()) return now;
  return std::max({now, found->second.blocked_until, found->second.turn_until});
}

void SourceRecords::answered(Source source, Clock::time_point now) {
  const auto found = records_.find(source);
  if (found == records_.end()) return;
  Record& record = found->second;
  if (record.wrong_tokens == 0 || now - record.last_wrong > limits_.memory) return;
  record.turn_until = now + delay_after(record.wrong_tokens);
}

void SourceRecords::right_token(Source source) {
  if (const auto found = records_.find(source); found != records_.end())
    found->second.turn_until = {};
}

std::chrono::milliseconds SourceRecords::delay_after(std::uint32_t wrong_tokens) const {
  const std::uint32_t doublings = std::min(wrong_tokens - 1, 16u);
  return std::min<std::chrono::milliseconds>(limits_.first_delay * (1 << doublings),
                                             limits_.max_delay);
}

std::optional<std::string> SourceRecords::log_line(Source source, Clock::time_point now) {
  return record_of(source, now).lines.take(now);
}

SourceRecords::Record& SourceRecords::record_of(Source source, Clock::time_point now) {
  if (const auto found = records_.find(source); found != records_.end()) {
    found->second.last_use = now;
    return found->second;
  }
  if (records_.size() >= limits_.sources)
    records_.erase(std::ranges::min_element(
        records_, {}, [](const auto& entry) { return entry.second.last_use; }));
  return records_
      .emplace(source, Record{.lines = LogBudget(1, limits_.log_interval), .last_use = now})
      .first->second;
}

}  // namespace cohom::offload
