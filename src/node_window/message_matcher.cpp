#include "node_window/message_matcher.hpp"

#include <algorithm>
#include <utility>

namespace cohom {

void MessageMatcher::arrive(int peer, std::uint32_t tag, Arrival arrival) {
  Sequence& sequence = sequences_[key_of(peer, tag)];
  if (!sequence.posted.empty()) return match(sequence, std::move(arrival));
  sequence.arrived.push(std::move(arrival));
  ++unexpected_;
}

void MessageMatcher::post(int peer, std::uint32_t tag, std::span<std::byte> buffer,
                          std::uint64_t cookie, bool may_lend) {
  Sequence& sequence = sequences_[key_of(peer, tag)];
  sequence.posted.push({.buffer = buffer, .cookie = cookie, .may_lend = may_lend});
  ++posted_;
  while (!sequence.arrived.empty() && !sequence.posted.empty()) {
    match(sequence, std::move(sequence.arrived.front()));
    sequence.arrived.pop();
    --unexpected_;
  }
}

void MessageMatcher::match(Sequence& sequence, Arrival arrival) {
  Posted& posted = sequence.posted.front();
  const std::size_t end = posted.filled + arrival.bytes;
  const bool whole = posted.filled == 0 && arrival.last;
  Match match{.arrival = std::move(arrival),
              .to = posted.buffer.data() + posted.filled,
              .too_long = end > posted.buffer.size(),
              .may_lend = posted.may_lend && whole};
  posted.filled = std::min(end, posted.buffer.size());
  if (match.arrival.last) {
    match.completion = {posted.cookie, end};
    sequence.posted.pop();
    --posted_;
  }
  matches_.push(std::move(match));
}

MessageMatcher::Match MessageMatcher::pop_match() {
  Match match = std::move(matches_.front());
  matches_.pop();
  return match;
}

bool MessageMatcher::waits_for(int peer) const {
  return posted_ != 0 && std::ranges::any_of(sequences_, [&](const auto& entry) {
           return int(entry.first >> 32) == peer && !entry.second.posted.empty();
         });
}

}  // namespace cohom
