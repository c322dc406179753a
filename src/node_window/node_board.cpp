#include "node_window/node_board.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace cohom {

namespace {

static_assert(CallBoard::max_bytes < 1 << 16, "they are counted in 16 bits");

std::uint64_t head_of(std::uint64_t number, std::size_t bytes) {
  return (number + 1) << 16 | bytes;
}

bool is_long(std::size_t bytes) { return bytes > BoardSlot::carried_bytes; }

[[noreturn]] void throw_ended(int rank) {
  throw Error(ErrorKind::transport,
              "the process of rank " + std::to_string(rank) + ", on this node, has ended");
}

}  // namespace

NodeBoard::NodeBoard(NodeWindow& window, std::vector<Peer> peers, std::size_t most_calls,
                     Reports reports)
    : own_(*window.at<Board>(window.layout().board())),
      peers_(std::move(peers)),
      peer_of_rank_(peers_.size() + 1),
      reports_(reports) {
  open_.reserve(most_calls);
  // Its pages are there before the first calls.
  for (auto& words : own_.long_words) words.fill(std::byte{0});
  for (std::size_t peer = 0; peer < peers_.size(); ++peer)
    peer_of_rank_[static_cast<std::size_t>(peers_[peer].rank)] = peer;
}

NodeBoard::Open* NodeBoard::open(std::uint64_t number) {
  const auto found = std::ranges::find(open_, number, &Open::number);
  return found == open_.end() ? nullptr : &*found;
}

void NodeBoard::begin(std::uint64_t number) {
  if (open(number) != nullptr) return;
  open_.push_back({.number = number});
  next_ = number + 1;
}

bool NodeBoard::has_posted(std::uint64_t number) const {
  return std::ranges::any_of(
      open_, [&](const Open& call) { return call.number == number && call.posted; });
}

/// Whether nobody reads any more what stood in the call's place.
bool NodeBoard::has_room(std::uint64_t number, bool is_long) {
  const std::uint64_t places = is_long ? long_calls : calls;
  return std::ranges::all_of(peers_, [&](Peer& peer) {
    if (peer.ended + places > number) return true;
    peer.ended = peer.board->ended.load(std::memory_order_acquire);
    return peer.ended + places > number;
  });
}

bool NodeBoard::post(std::uint64_t number, std::span<const std::byte> words) {
  Open* const call = open(number);
  if (call == nullptr || call->posted) return call != nullptr;
  if (has_room(number, is_long(words.size()))) {
    write(*call, words);
    return true;
  }
  // Who has ended reads no more, but nor does it come to this call.
  for (const Peer& peer : peers_)
    if (*peer.has_ended) throw_ended(peer.rank);
  return false;
}

void NodeBoard::write(Open& call, std::span<const std::byte> words) {
  BoardSlot& slot = own_.slots[call.number % calls];
  std::byte* const to =
      is_long(words.size()) ? own_.long_words[call.number % long_calls].data() : slot.words.data();
  std::memcpy(to, words.data(), words.size());
  call.posted = true;
  ++reports_.counters.messages_sent;
  reports_.counters.bytes_sent += words.size();
  slot.head.store(head_of(call.number, words.size()), std::memory_order_release);
}

void NodeBoard::leave(std::uint64_t number, std::span<const std::byte> words) noexcept {
  begin(number);
  if (has_room(number, is_long(words.size()))) write(*open(number), words);
  end(number, true);
}

void NodeBoard::tell_that_it_left(std::uint64_t number) {
  if (own_.left.load(std::memory_order_relaxed) == 0)
    own_.left.store(number + 1, std::memory_order_release);
}

std::optional<std::span<const std::byte>> NodeBoard::words_of(std::uint64_t number, int rank) {
  const Peer& peer = peers_[peer_of_rank_[static_cast<std::size_t>(rank)]];
  // Looked at first: what it posted before counts.
  const bool has_ended = *peer.has_ended;
  const std::uint64_t left = peer.board->left.load(std::memory_order_acquire);
  const BoardSlot& slot = peer.board->slots[number % calls];
  const std::uint64_t head = slot.head.load(std::memory_order_acquire);
  const std::size_t bytes = head & 0xffff;
  if (head < head_of(number, 0)) {
    if (has_ended) throw_ended(rank);
    if (left != 0 && number >= left - 1)
      throw Error(ErrorKind::transport,
                  "rank " + std::to_string(rank) +
                      ": an earlier call on this communicator ended early there; make a new "
                      "communicator");
    return std::nullopt;
  }
  if (head > head_of(number, max_bytes))
    throw Error(ErrorKind::transport,
                "the node window of rank " + std::to_string(rank) +
                    " has words of a call that cannot be: " + std::to_string(head));
  const std::byte* const words =
      is_long(bytes) ? peer.board->long_words[number % long_calls].data() : slot.words.data();
  return std::span(words, bytes);
}

/// Calls that never began, as this rank failed before, are over with their error.
void NodeBoard::end(std::uint64_t number, bool early) noexcept {
  const Open* const call = open(number);
  if (call == nullptr && number < next_) return;
  if (call != nullptr) {
    // Nobody heard of it.
    if (early && !call->posted) tell_that_it_left(number);
    open_.erase(open_.begin() + (call - open_.data()));
    reports_.ended_early |= early;
  }
  next_ = std::max(next_, number + 1);
  own_.ended.store(open_.empty() ? next_ : open_.front().number, std::memory_order_release);
}

}  // namespace cohom
