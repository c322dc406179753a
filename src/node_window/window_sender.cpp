#include "node_window/window_sender.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <cstring>
#include <string>

namespace cohom {

WindowSender::WindowSender(NodeWindow& window, const PeerWindow& peer_window, std::size_t own,
                           std::size_t peer, int rank)
    : window_(window),
      rank_(rank),
      ring_(window.at<RingEntry>(window.layout().ring(peer))),
      notes_(window.at<SenderNotes>(window.layout().notes(peer))),
      receipts_(peer_window.at<Receipts>(peer_window.layout().receipts(own))),
      slots_(window, peer) {
  for (std::uint32_t mark = usual_marks; mark-- > 0;) free_marks_.push_back(mark);
  for (std::uint32_t mark = usual_marks; mark < lent_marks; ++mark) reserve_marks_.push_back(mark);
}

void WindowSender::send(const Message& message) {
  Waiting waiting{message};
  if (!waits_for_room(message.channel, message.tag) && start(waiting)) return;
  waiting_.push(waiting);
  send_waiting();
}

bool WindowSender::waits_for_room(std::uint32_t channel, std::uint32_t tag) const {
  return std::ranges::any_of(waiting_, [&](const Waiting& waiting) {
    return waiting.message.channel == channel && waiting.message.tag == tag;
  });
}

bool WindowSender::advance() {
  const bool completed = complete_taken();
  return send_waiting() || completed;
}

bool WindowSender::send_waiting() {
  bool moved = false;
  while (!waiting_.empty()) {
    const std::size_t copied = waiting_.front().copied;
    const bool has_left = start(waiting_.front());
    const bool has_moved = has_left || waiting_.front().copied != copied;
    moved |= has_moved;
    if (!has_moved) ++attempts_;
    if (!has_left) break;
    waiting_.pop();
  }
  if (short_of_room_ == waiting_.empty()) {
    short_of_room_ = !short_of_room_;
    notes_->short_of_room.store(short_of_room_ ? 1 : 0, std::memory_order_relaxed);
  }
  return moved;
}

/// Whether all of it has left.
bool WindowSender::start(Waiting& waiting) {
  const Message& message = waiting.message;
  if (!has_entry()) return false;
  const std::size_t bytes = message.data.size();
  if (bytes > Descriptor::max_carried_bytes && !window_.holds(message.data))
    return send_parts(waiting);
  Descriptor descriptor{.tag = message.tag, .channel = message.channel, .bytes = bytes};
  if (bytes <= Descriptor::max_carried_bytes) {
    descriptor.carried = true;
    if (bytes != 0) std::memcpy(descriptor.content.data(), message.data.data(), bytes);
    put(descriptor);
    message.completed->push(message.completion);
    return true;
  }
  std::vector<std::uint32_t>& marks =
      free_marks_.empty() && is_stuck() ? reserve_marks_ : free_marks_;
  if (marks.empty()) return false;
  descriptor.mark = marks.back();
  descriptor.use = next_use(descriptor.mark);
  descriptor.offset = window_.offset_of(message.data.data());
  open_.push_back({descriptor.mark, message.completion, message.completed});
  marks.pop_back();
  if (descriptor.mark < usual_marks) attempts_ = 0;
  put(descriptor);
  return true;
}

bool WindowSender::send_parts(Waiting& waiting) {
  const Message& message = waiting.message;
  while (has_entry()) {
    const auto rest = message.data.subspan(waiting.copied);
    const std::size_t bytes = std::min(rest.size(), BounceSlots::max_part_bytes);
    const auto run =
        slots_.take(bytes, is_stuck(), [this](std::uint32_t mark) { return is_taken(mark); });
    if (!run) return false;
    const std::size_t offset = slots_.fill(*run, rest.first(bytes));
    const std::uint32_t mark = run->mark();
    if (run->first < usual_slots) attempts_ = 0;
    waiting.copied += bytes;
    const bool last = bytes == rest.size();
    put({.tag = message.tag,
         .channel = message.channel,
         .last = last,
         .bytes = bytes,
         .offset = offset,
         .mark = mark,
         .use = next_use(mark)});
    if (!last) continue;
    message.completed->push(message.completion);
    return true;
  }
  return false;
}

bool WindowSender::has_entry() {
  if (position_ - taken_entries_ < WindowLayout::ring_entries) return true;
  taken_entries_ = receipts_->entries.load(std::memory_order_acquire);
  if (taken_entries_ > position_)
    throw Error(ErrorKind::transport,
                "the node window of rank " + std::to_string(rank_) +
                    " has a receipt that cannot be: " + std::to_string(taken_entries_) +
                    " messages of " + std::to_string(position_));
  return position_ - taken_entries_ < WindowLayout::ring_entries;
}

void WindowSender::put(const Descriptor& descriptor) {
  auto& words = ring_[position_ % WindowLayout::ring_entries].words;
  const auto write = [&](std::size_t number, std::uint64_t word) {
    words[number].store(word, std::memory_order_relaxed);
  };
  const std::uint64_t carried_bytes = descriptor.carried ? descriptor.bytes : 0;
  write(1, descriptor.tag | std::uint64_t(descriptor.channel) << 32 |
               std::uint64_t(descriptor.carried) << 48 | std::uint64_t(descriptor.last) << 49 |
               carried_bytes << 56);
  if (descriptor.carried) {
    for (std::size_t i = 0; i < (carried_bytes + 7) / 8; ++i) write(2 + i, descriptor.content[i]);
  } else {
    write(2, descriptor.bytes);
    write(3, descriptor.offset);
    write(4, descriptor.mark | std::uint64_t(descriptor.use) << 32);
  }
  words[0].store(++position_, std::memory_order_release);
}

bool WindowSender::is_taken(std::uint32_t mark) const {
  return receipts_->taken[mark].load(std::memory_order_acquire) == uses_[mark];
}

bool WindowSender::complete_taken() {
  return std::erase_if(open_, [&](const Open& open) {
           if (!is_taken(open.mark)) return false;
           if (open.completed != nullptr) open.completed->push(open.completion);
           (open.mark < usual_marks ? free_marks_ : reserve_marks_).push_back(open.mark);
           return true;
         }) != 0;
}

bool WindowSender::has_left(const CompletionQueue& completed) const {
  return std::ranges::none_of(
      waiting_, [&](const Waiting& waiting) { return waiting.message.completed == &completed; });
}

bool WindowSender::awaits_receiver(const CompletionQueue& completed) const {
  return !has_left(completed) ||
         std::ranges::any_of(open_, [&](const Open& open) { return open.completed == &completed; });
}

bool WindowSender::end(const CompletionQueue& completed) noexcept {
  bool any = waiting_.erase_if([&](const Waiting& waiting) {
    return waiting.message.completed == &completed;
  }) != 0;
  for (Open& open : open_) {
    if (open.completed != &completed) continue;
    any = true;
    open.completed = nullptr;
    // Seen by who reads what the words become from now on.
    notes_->revoked[open.mark].store(uses_[open.mark], std::memory_order_relaxed);
    order_words_and_mark(std::memory_order_release);
  }
  return any;
}

}  // namespace cohom
