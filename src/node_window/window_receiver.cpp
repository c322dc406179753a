#include "node_window/window_receiver.hpp"

#include <cstring>
#include <string>

namespace cohom {

WindowReceiver::WindowReceiver(NodeWindow& window, const PeerWindow& peer_window, std::size_t own,
                               std::size_t peer, int rank)
    : receipts_(window.at<Receipts>(window.layout().receipts(peer))),
      peer_window_(peer_window),
      ring_(peer_window.at<RingEntry>(peer_window.layout().ring(own))),
      notes_(peer_window.at<SenderNotes>(peer_window.layout().notes(own))),
      rank_(rank) {}

std::optional<WindowReceiver::Announced> WindowReceiver::next() {
  const RingEntry& entry = ring_[position_ % WindowLayout::ring_entries];
  const std::uint64_t turn = entry.words[0].load(std::memory_order_acquire);
  if (turn != position_ + 1) {
    if (turn > position_ + 1) throw_wrong("a turn of the ring", turn);
    return std::nullopt;
  }
  Announced announced = read(entry);
  receipts_->entries.store(++position_, std::memory_order_release);
  return announced;
}

/// Each word is read once and then checked: the other process may change it meanwhile.
WindowReceiver::Announced WindowReceiver::read(const RingEntry& entry) const {
  const auto word = [&](std::size_t number) {
    return entry.words[number].load(std::memory_order_relaxed);
  };
  const std::uint64_t head = word(1);
  Announced announced;
  announced.channel = std::uint32_t(head >> 32 & 0xffff);
  announced.tag = std::uint32_t(head);
  if (announced.tag >= Transport::tag_limit) throw_wrong("a tag", announced.tag);
  Arrival& arrival = announced.arrival;
  arrival.rank = rank_;
  arrival.last = (head >> 49 & 1) != 0;
  if ((head >> 48 & 1) != 0) {
    arrival.bytes = head >> 56;
    if (arrival.bytes > Descriptor::max_carried_bytes) throw_wrong("a length", arrival.bytes);
    for (std::size_t i = 0; i < (arrival.bytes + 7) / 8; ++i) arrival.content[i] = word(2 + i);
    return announced;
  }
  arrival.bytes = word(2);
  const std::uint64_t offset = word(3), mark = word(4);
  arrival.mark = std::uint32_t(mark);
  arrival.use = std::uint32_t(mark >> 32);
  if (arrival.mark >= window_marks) throw_wrong("a mark", arrival.mark);
  arrival.words = peer_window_.words(offset, arrival.bytes);
  if (arrival.words == nullptr) throw_wrong("an offset", offset);
  return announced;
}

void WindowReceiver::take(const Arrival& arrival, std::byte* to) {
  if (arrival.is_void) throw_void();
  if (arrival.words == nullptr) {
    const void* const here = arrival.copy.empty() ? static_cast<const void*>(arrival.content.data())
                                                  : arrival.copy.data();
    if (arrival.bytes != 0) std::memcpy(to, here, arrival.bytes);
    return;
  }
  if (arrival.bytes != 0) std::memcpy(to, arrival.words, arrival.bytes);
  give_back(arrival);
}

void WindowReceiver::give_back(const Arrival& arrival) {
  if (!give_room_back(arrival)) throw_void();
}

void WindowReceiver::keep(Arrival& arrival) {
  if (arrival.words == nullptr) return;
  arrival.copy.assign(arrival.words, arrival.words + arrival.bytes);
  arrival.is_void = !give_room_back(arrival);
  if (arrival.is_void) arrival.copy = {};
  arrival.words = nullptr;
}

/// Whether the words that were read until now were the message's.
bool WindowReceiver::give_room_back(const Arrival& arrival) {
  order_words_and_mark(std::memory_order_acquire);
  const bool revoked = notes_->revoked[arrival.mark].load(std::memory_order_relaxed) == arrival.use;
  drop(arrival);
  return !revoked;
}

void WindowReceiver::drop(const Arrival& arrival) noexcept {
  if (arrival.words != nullptr)
    receipts_->taken[arrival.mark].store(arrival.use, std::memory_order_release);
}

void WindowReceiver::throw_void() const {
  throw Error(ErrorKind::transport,
              "rank " + std::to_string(rank_) + " ended its call before its message was taken");
}

void WindowReceiver::throw_wrong(const char* what, std::uint64_t value) const {
  throw Error(ErrorKind::transport, "the node window of rank " + std::to_string(rank_) + " has " +
                                        what + " that cannot be: " + std::to_string(value));
}

}  // namespace cohom
