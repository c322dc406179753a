#include "node_window/node_board.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace cohom {

namespace {

static_assert(CallBoard::calls == 64, "a bit each");
static_assert(CallBoard::max_bytes < 1 << 16, "they are counted in 16 bits");

std::uint64_t head_of(std::uint64_t number, std::size_t bytes) {
  return (number + 1) << 16 | bytes;
}

std::size_t slot_of(std::uint64_t number) { return number % CallBoard::calls; }

}  // namespace

NodeBoard::NodeBoard(NodeWindow& window, std::vector<Peer> peers, Reports reports)
    : window_(window),
      own_(*window.at<Board>(window.layout().board())),
      peers_(std::move(peers)),
      peer_of_rank_(peers_.size() + 1),
      reports_(reports) {
  open_.reserve(calls);
  for (std::size_t peer = 0; peer < peers_.size(); ++peer)
    peer_of_rank_[static_cast<std::size_t>(peers_[peer].rank)] = peer;
}

bool NodeBoard::has_posted(std::uint64_t number) const {
  return std::ranges::find(open_, number) != open_.end();
}

/// Whether nobody reads any more what stood in the call's slot.
bool NodeBoard::has_room(std::uint64_t number) {
  return std::ranges::all_of(peers_, [&](Peer& peer) {
    if (peer.ended + calls > number) return true;
    peer.ended = peer.board->ended.load(std::memory_order_acquire);
    return peer.ended + calls > number;
  });
}

bool NodeBoard::post(std::uint64_t number, std::span<const std::byte> words) {
  if (has_posted(number)) return true;
  if (!has_room(number) || open_.size() == calls) return false;
  BoardSlot& slot = own_.slots[slot_of(number)];
  std::byte* to = slot.words.data();
  if (words.size() > BoardSlot::carried_bytes) {
    to = own_.words[slot_of(number)].data();
    const std::uint64_t bit = std::uint64_t{1} << slot_of(number);
    if ((touched_ & bit) == 0) window_.take_pages(window_.offset_of(to), max_bytes);
    touched_ |= bit;
  }
  std::memcpy(to, words.data(), words.size());
  open_.push_back(number);
  next_ = number + 1;
  ++reports_.counters.messages_sent;
  reports_.counters.bytes_sent += words.size();
  slot.head.store(head_of(number, words.size()), std::memory_order_release);
  return true;
}

std::optional<std::span<const std::byte>> NodeBoard::words_of(std::uint64_t number, int rank) {
  const Peer& peer = peers_[peer_of_rank_[static_cast<std::size_t>(rank)]];
  // Looked at first: what it posted before it ended counts.
  const bool has_ended = *peer.has_ended;
  const BoardSlot& slot = peer.board->slots[slot_of(number)];
  const std::uint64_t head = slot.head.load(std::memory_order_acquire);
  const std::size_t bytes = head & 0xffff;
  if (head < head_of(number, 0)) {
    if (!has_ended) return std::nullopt;
    throw Error(ErrorKind::transport,
                "the process of rank " + std::to_string(rank) + ", on this node, has ended");
  }
  if (head > head_of(number, max_bytes))
    throw Error(ErrorKind::transport,
                "the node window of rank " + std::to_string(rank) +
                    " has words of a call that cannot be: " + std::to_string(head));
  const std::byte* const words = bytes <= BoardSlot::carried_bytes
                                     ? slot.words.data()
                                     : peer.board->words[slot_of(number)].data();
  return std::span(words, bytes);
}

void NodeBoard::end(std::uint64_t number, bool early) noexcept {
  if (std::erase(open_, number) == 0) return;
  reports_.ended_early |= early;
  own_.ended.store(open_.empty() ? next_ : open_.front(), std::memory_order_release);
}

}  // namespace cohom
