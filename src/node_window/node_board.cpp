#include "node_window/node_board.hpp"

#include "node_window/copy_choice.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

namespace cohom {

namespace {

constexpr int bits_of_bytes = 20;  // of BoardSlot::head
static_assert(CallBoard::max_long_bytes < 1 << bits_of_bytes);

std::uint64_t head_of(std::uint64_t number, std::size_t bytes) {
  return (number + 1) << bits_of_bytes | bytes;
}

/// Bytes of a vector that is written past the caches: all other ranks read it, and the next one in
/// its place need not be taken back from their caches.
constexpr std::size_t least_past_caches = (std::size_t{8} << 10) + 1;
constexpr std::size_t alignment_past_caches = 16;
static_assert(offsetof(Board, long_words) % 64 == 0 && offsetof(Board, longest_words) % 64 == 0);

/// How many calls may stand there at once with so many bytes.
std::uint64_t places_of(std::size_t bytes) {
  if (bytes <= BoardSlot::carried_bytes) return CallBoard::calls;
  return bytes <= CallBoard::max_bytes ? CallBoard::long_calls : CallBoard::longest_calls;
}

/// Where they lie.
template <class Board>
auto place_of(Board& board, std::uint64_t number, std::size_t bytes) {
  if (bytes <= BoardSlot::carried_bytes) return board.slots[number % CallBoard::calls].words.data();
  return bytes <= CallBoard::max_bytes
             ? board.long_words[number % CallBoard::long_calls].data()
             : board.longest_words[number % CallBoard::longest_calls].data();
}

/// So that they are there before the first calls. All bytes would push a user's vectors out of the
/// caches.
void touch_pages(std::span<std::byte> words) {
  for (std::size_t at = 0; at < words.size(); at += WindowLayout::page) words[at] = std::byte{0};
}

[[noreturn]] void throw_ended(int rank) {
  throw Error(ErrorKind::transport,
              "the process of rank " + std::to_string(rank) + ", on this node, has ended");
}

[[noreturn]] void throw_left(int rank) {
  throw Error(ErrorKind::transport, "rank " + std::to_string(rank) +
                                        ": an earlier call on this communicator ended early "
                                        "there; make a new communicator");
}

/// Whether that rank takes no part in the call.
bool has_left(const Board& board, std::uint64_t number) {
  const std::uint64_t left = board.left.load(std::memory_order_acquire);
  return left != 0 && number >= left - 1;
}

}  // namespace

NodeBoard::NodeBoard(NodeWindow& window, std::vector<Peer> peers, std::size_t most_calls,
                     Reports reports)
    : own_(*window.at<Board>(window.layout().board())),
      peers_(std::move(peers)),
      most_bytes_(peers_.size() < std::size_t(max_long_ranks) ? max_long_bytes : max_bytes),
      peer_of_rank_(peers_.size() + 1),
      reports_(reports) {
  open_.reserve(most_calls);
  for (auto& words : own_.long_words) touch_pages(words);
  if (most_bytes_ > max_bytes)
    for (auto& words : own_.longest_words) touch_pages(words);
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
bool NodeBoard::has_room(std::uint64_t number, std::size_t bytes) {
  const std::uint64_t places = places_of(bytes);
  return std::ranges::all_of(peers_, [&](Peer& peer) {
    const auto is_far_enough = [&] { return peer.ended > number || number - peer.ended < places; };
    if (is_far_enough()) return true;
    peer.ended = peer.board->ended.load(std::memory_order_acquire);
    return is_far_enough();
  });
}

bool NodeBoard::post(std::uint64_t number, std::span<const std::byte> words,
                     std::span<const std::byte> vector) {
  Open* const call = open(number);
  if (call == nullptr || call->posted) return call != nullptr;
  if (has_room(number, words.size() + vector.size())) {
    write(*call, words, vector);
    return true;
  }
  // Who has ended or left reads no more, but nor does it come to this call.
  for (const Peer& peer : peers_) {
    if (*peer.has_ended) throw_ended(peer.rank);
    if (has_left(*peer.board, number)) throw_left(peer.rank);
  }
  return false;
}

void NodeBoard::write(Open& call, std::span<const std::byte> words,
                      std::span<const std::byte> vector) {
  const std::size_t bytes = words.size() + vector.size();
  std::byte* const to = place_of(own_, call.number, bytes);
  std::memcpy(to, words.data(), words.size());
  if (vector.size() >= least_past_caches && words.size() % alignment_past_caches == 0)
    copy_past_caches(to + words.size(), vector.data(), vector.size());
  else if (!vector.empty())
    std::memcpy(to + words.size(), vector.data(), vector.size());
  call.posted = true;
  ++reports_.counters.messages_sent;
  reports_.counters.bytes_sent += bytes;
  own_.slots[call.number % calls].head.store(head_of(call.number, bytes),
                                             std::memory_order_release);
}

void NodeBoard::leave(std::uint64_t number, std::span<const std::byte> words) noexcept {
  begin(number);
  if (has_room(number, words.size())) write(*open(number), words, {});
  end(number, true);
}

void NodeBoard::tell_that_it_left(std::uint64_t number) {
  const std::uint64_t left = own_.left.load(std::memory_order_relaxed);
  if (left == 0 || number + 1 < left) own_.left.store(number + 1, std::memory_order_release);
}

std::optional<std::span<const std::byte>> NodeBoard::words_of(std::uint64_t number, int rank) {
  const Peer& peer = peers_[peer_of_rank_[static_cast<std::size_t>(rank)]];
  // Looked at first: what it posted before counts.
  const bool has_ended = *peer.has_ended;
  const bool left = has_left(*peer.board, number);
  const BoardSlot& slot = peer.board->slots[number % calls];
  const std::uint64_t head = slot.head.load(std::memory_order_acquire);
  const std::size_t bytes = head & ((1 << bits_of_bytes) - 1);
  if (head < head_of(number, 0)) {
    if (has_ended) throw_ended(rank);
    if (left) throw_left(rank);
    return std::nullopt;
  }
  if (head > head_of(number, most_bytes_))
    throw Error(ErrorKind::transport,
                "the node window of rank " + std::to_string(rank) +
                    " has words of a call that cannot be: " + std::to_string(head));
  return std::span(place_of(*peer.board, number, bytes), bytes);
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
