#include "aggregation/client/send_window.hpp"

#include "aggregation/protocol/narrow.hpp"

#include <algorithm>
#include <cstring>

namespace cohom::offload {

namespace {

constexpr std::uint32_t max_windows = 4;

}  // namespace

std::vector<SendWindow> send_windows_of(const Admitted& admitted) {
  std::vector<SendWindow> windows;
  const std::uint32_t count = std::min(max_windows, admitted.slots);
  const std::uint32_t slots = admitted.slots / count;
  for (std::uint32_t i = 0; i < count; ++i)
    windows.emplace_back(i * slots, slots, admitted.payload_bytes / 8);
  return windows;
}

void ReductionSequence::start(std::span<const std::uint64_t> contribution,
                              std::span<std::uint64_t> sum, std::uint8_t merge,
                              std::uint64_t cookie, const Promotion* promotion) {
  sums.push_back({.contribution = contribution.data(),
                  .sum = sum.data(),
                  .words = promotion != nullptr ? sum.size() : contribution.size(),
                  .merge = merge,
                  .cookie = cookie,
                  .number = static_cast<std::uint32_t>(started),
                  .promotion = promotion,
                  .narrow_words = contribution.size()});
  ++started;
  if (contribution.empty()) {
    ++completed;
    completions.push_back({.cookie = cookie, .bytes = 0});
  }
}

void SendWindow::leave(const ReductionSequence& reductions) { std::erase(sequences_, &reductions); }

SendWindow::Flight* SendWindow::cut() {
  while (!sequences_.empty() && sequences_.front()->all_cut()) sequences_.pop_front();
  if (sequences_.empty()) return nullptr;
  ReductionSequence& reductions = *sequences_.front();
  while (reductions.next_to_cut < reductions.sums.size() &&
         reductions.sums[reductions.next_to_cut].cut ==
             reductions.sums[reductions.next_to_cut].words)
    ++reductions.next_to_cut;
  if (reductions.next_to_cut == reductions.sums.size())
    return reductions.all_cut() ? cut() : nullptr;  // the next one's turn, or more is to be started
  Flight& flight = flights_[next_ % flights_.size()];
  if (flight.reductions != nullptr || static_cast<double>(under_way_) >= congestion_window_)
    return nullptr;
  ReductionSequence::Sum& sum = reductions.sums[reductions.next_to_cut];
  // Whole blocks of lanes, alike on all ranks.
  const std::size_t max_words =
      sum.promotion == nullptr ? packet_words_
                               : packet_words_ - packet_words_ % wide_block_words(*sum.promotion);
  const std::size_t words = std::min(max_words, sum.words - sum.cut);
  flight = {.reductions = &reductions,
            .sum = &sum,
            .number = next_++,
            .offset = sum.cut,
            .words = static_cast<std::uint16_t>(words)};
  sum.cut += words;
  ++under_way_;
  return &flight;
}

void SendWindow::describe(const Flight& flight, cohom_header& packet) const {
  const std::uint64_t sequence = flight.number / flights_.size();
  packet.kind = cohom_contribution;
  packet.merge = flight.sum->merge;
  packet.slot = static_cast<__u16>(first_slot_ + flight.number % flights_.size());
  packet.words = flight.words;
  packet.sequence = static_cast<__u32>(sequence);
  packet.offset = static_cast<__u32>(flight.offset);
  packet.reduction = flight.sum->number;
  packet.round = flight.reductions->round;
  packet.call = flight.reductions->call;
}

SendWindow::Flight* SendWindow::find(const cohom_header& packet) {
  if (packet.slot < first_slot_ || packet.slot - first_slot_ >= flights_.size()) return nullptr;
  Flight& flight = flights_[packet.slot - first_slot_];
  const bool same =
      flight.reductions != nullptr && packet.sequence == flight.number / flights_.size() &&
      packet.call == flight.reductions->call && packet.round == flight.reductions->round &&
      packet.reduction == flight.sum->number && packet.offset == flight.offset &&
      packet.words == flight.words && packet.merge == flight.sum->merge;
  return same ? &flight : nullptr;
}

SendWindow::Flight* SendWindow::oldest() {
  Flight* oldest = nullptr;
  for (Flight& flight : flights_)
    if (flight.reductions != nullptr && (oldest == nullptr || flight.number < oldest->number))
      oldest = &flight;
  return oldest;
}

void SendWindow::lost(const Flight& flight) {
  if (flight.number < known_losses_) return;
  congestion_window_ = std::max(congestion_window_ / 2, min_congestion_window);
  known_losses_ = next_;
}

void SendWindow::complete(Flight& flight, std::span<const std::byte> words) {
  ReductionSequence::Sum& sum = *flight.sum;
  std::memcpy(sum.sum + flight.offset, words.data(), words.size());
  sum.arrived += words.size() / 8;
  if (sum.arrived == sum.words) {
    ++flight.reductions->completed;
    flight.reductions->completions.push_back({.cookie = sum.cookie, .bytes = 8 * sum.words});
  }
  highest_completed_ = std::max(highest_completed_, flight.number);
  congestion_window_ = std::min(congestion_window_ + growth / congestion_window_,
                                static_cast<double>(flights_.size()));
  flight.reductions = nullptr;
  --under_way_;
}

}  // namespace cohom::offload
