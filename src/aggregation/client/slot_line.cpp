#include "aggregation/client/slot_line.hpp"

#include "aggregation/protocol/narrow.hpp"

#include <algorithm>
#include <cstring>

namespace cohom::offload {

namespace {

constexpr std::uint32_t most_lines = 4;

}  // namespace

std::vector<SlotLine> lines_of(const Admitted& admitted) {
  std::vector<SlotLine> lines;
  const std::uint32_t count = std::min(most_lines, admitted.slots);
  const std::uint32_t slots = admitted.slots / count;
  for (std::uint32_t i = 0; i < count; ++i)
    lines.emplace_back(i * slots, slots, admitted.payload_bytes / 8);
  return lines;
}

void ReductionStream::start(std::span<const std::uint64_t> contribution,
                            std::span<std::uint64_t> sum, std::uint8_t merge, std::uint64_t cookie,
                            const Widening* widening) {
  sums.push_back({.contribution = contribution.data(),
                  .sum = sum.data(),
                  .words = widening != nullptr ? sum.size() : contribution.size(),
                  .merge = merge,
                  .cookie = cookie,
                  .number = static_cast<std::uint32_t>(started),
                  .widening = widening,
                  .narrow_words = contribution.size()});
  ++started;
  if (contribution.empty()) {
    ++finished;
    completions.push_back({.cookie = cookie, .bytes = 0});
  }
}

void SlotLine::leave(const ReductionStream& stream) { std::erase(streams_, &stream); }

SlotLine::Flight* SlotLine::cut() {
  while (!streams_.empty() && streams_.front()->all_cut()) streams_.pop_front();
  if (streams_.empty()) return nullptr;
  ReductionStream& stream = *streams_.front();
  while (stream.next_to_cut < stream.sums.size() &&
         stream.sums[stream.next_to_cut].cut == stream.sums[stream.next_to_cut].words)
    ++stream.next_to_cut;
  if (stream.next_to_cut == stream.sums.size())
    return stream.all_cut() ? cut() : nullptr;  // the next one's turn, or more is to be started
  Flight& flight = flights_[next_ % flights_.size()];
  if (flight.stream != nullptr || static_cast<double>(under_way_) >= window_) return nullptr;
  ReductionStream::Sum& sum = stream.sums[stream.next_to_cut];
  // Whole blocks of lanes, alike on all ranks.
  const std::size_t most = sum.widening == nullptr
                               ? packet_words_
                               : packet_words_ - packet_words_ % wide_block_words(*sum.widening);
  const std::size_t words = std::min(most, sum.words - sum.cut);
  flight = {.stream = &stream,
            .sum = &sum,
            .number = next_++,
            .offset = sum.cut,
            .words = static_cast<std::uint16_t>(words)};
  sum.cut += words;
  ++under_way_;
  return &flight;
}

void SlotLine::describe(const Flight& flight, cohom_header& packet) const {
  const std::uint64_t use = flight.number / flights_.size();
  packet.kind = cohom_contribution;
  packet.merge = flight.sum->merge;
  packet.slot = static_cast<__u16>(first_slot_ + flight.number % flights_.size());
  packet.words = flight.words;
  packet.use = static_cast<__u32>(use);
  packet.offset = static_cast<__u32>(flight.offset);
  packet.reduction = flight.sum->number;
  packet.round = flight.stream->round;
  packet.call = flight.stream->call;
}

SlotLine::Flight* SlotLine::find(const cohom_header& packet) {
  if (packet.slot < first_slot_ || packet.slot - first_slot_ >= flights_.size()) return nullptr;
  Flight& flight = flights_[packet.slot - first_slot_];
  const bool same = flight.stream != nullptr && packet.use == flight.number / flights_.size() &&
                    packet.call == flight.stream->call && packet.round == flight.stream->round &&
                    packet.reduction == flight.sum->number && packet.offset == flight.offset &&
                    packet.words == flight.words && packet.merge == flight.sum->merge;
  return same ? &flight : nullptr;
}

SlotLine::Flight* SlotLine::oldest() {
  Flight* oldest = nullptr;
  for (Flight& flight : flights_)
    if (flight.stream != nullptr && (oldest == nullptr || flight.number < oldest->number))
      oldest = &flight;
  return oldest;
}

void SlotLine::lost(const Flight& flight) {
  if (flight.number < known_losses_) return;
  window_ = std::max(window_ / 2, least_window);
  known_losses_ = next_;
}

void SlotLine::finish(Flight& flight, std::span<const std::byte> words) {
  ReductionStream::Sum& sum = *flight.sum;
  std::memcpy(sum.sum + flight.offset, words.data(), words.size());
  sum.arrived += words.size() / 8;
  if (sum.arrived == sum.words) {
    ++flight.stream->finished;
    flight.stream->completions.push_back({.cookie = sum.cookie, .bytes = 8 * sum.words});
  }
  highest_finished_ = std::max(highest_finished_, flight.number);
  window_ = std::min(window_ + growth / window_, static_cast<double>(flights_.size()));
  flight.stream = nullptr;
  --under_way_;
}

}  // namespace cohom::offload
