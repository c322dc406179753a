#include "node_window/node_transport.hpp"

#include "node_window/node_channel.hpp"

#include <cohom/error.hpp>

#include <string>
#include <utility>

namespace cohom {

using Clock = std::chrono::steady_clock;

NodeTransport::NodeTransport(std::shared_ptr<Transport> transport, NodeWindows windows)
    : transport_(std::move(transport)),
      windows_(std::move(windows)),
      mailboxes_(transport_->channels()) {
  const std::size_t own = windows_.own;
  link_of_rank_.assign(static_cast<std::size_t>(transport_->ranks()), windows_.peers.size());
  for (std::size_t peer = 0; peer < windows_.peers.size(); ++peer) {
    if (peer == own) continue;
    const NodeWindows::Peer& other = windows_.peers[peer];
    link_of_rank_[static_cast<std::size_t>(other.rank)] = links_.size();
    links_.push_back({.rank = other.rank,
                      .peer = peer,
                      .sender = {*windows_.window, *other.window, own, peer, other.rank},
                      .receiver = {*windows_.window, *other.window, own, peer, other.rank},
                      .process = other.process});
  }
}

CallBoard* NodeTransport::take_board() {
  if (board_ || !is_one_node() || transport_->ranks() > CallBoard::max_ranks) return nullptr;
  std::vector<NodeBoard::Peer> peers;
  const auto map_board = [](const auto& window) {
    window.memory()->map_pages(window.layout().board(), window.layout().board_bytes());
  };
  map_board(*windows_.window);
  for (const Link& link : links_) {
    const PeerWindow& window = *windows_.peers[link.peer].window;
    map_board(window);
    peers.push_back({.rank = link.rank,
                     .board = window.at<Board>(window.layout().board()),
                     .has_ended = &link.has_ended});
  }
  board_ = std::make_unique<NodeBoard>(
      *windows_.window, std::move(peers), transport_->channels(),
      NodeBoard::Reports{.ended_early = call_ended_early_, .counters = counters_});
  return board_.get();
}

std::unique_ptr<Channel> NodeTransport::open(std::uint32_t number) {
  if (!is_one_node()) return std::make_unique<NodeChannel>(*this, number, transport_->open(number));
  transport_->check_thread();
  if (!beyond_) beyond_ = transport_->open(0);
  return std::make_unique<NodeChannel>(*this, number, nullptr);
}

std::optional<Error> NodeTransport::failure() const {
  if (wrong_window_) return wrong_window_;
  if (call_ended_early_)
    return Error(ErrorKind::transport,
                 "an earlier call on this communicator ended with messages under way; make a new "
                 "communicator");
  return transport_->failure();
}

WireCounters NodeTransport::counters() const {
  WireCounters sum = transport_->counters();
  sum.bytes_sent += counters_.bytes_sent;
  sum.messages_sent += counters_.messages_sent;
  return sum;
}

NodeTransport::Mailbox& NodeTransport::take_mailbox(std::uint32_t number) {
  auto& box = mailboxes_[number];
  if (idle_mailboxes_.empty()) {
    idle_mailboxes_.reserve(mailboxes_.size());  // so that keep_mailbox() cannot fail
    box = std::make_unique<Mailbox>();
  } else {
    box = std::move(idle_mailboxes_.back());
    idle_mailboxes_.pop_back();
  }
  return *box;
}

/// Messages of the next call with this number may be there already: they stay.
void NodeTransport::keep_mailbox(std::uint32_t number) noexcept {
  auto& box = mailboxes_[number];
  if (box && box->matcher.is_idle()) idle_mailboxes_.push_back(std::move(box));
}

bool NodeTransport::advance() {
  if (wrong_window_) throw Error(*wrong_window_);
  bool moved = false;
  for (Link& link : links_) moved |= link.sender.advance();
  try {
    for (Link& link : links_) moved |= take_in(link);
  } catch (const Error& error) {
    wrong_window_ = error;
    throw;
  }
  return moved;
}

bool NodeTransport::take_in(Link& link) {
  bool moved = false;
  while (auto announced = link.receiver.next()) {
    if (announced->channel >= mailboxes_.size())
      throw Error(ErrorKind::transport, "a message of rank " + std::to_string(link.rank) +
                                            " for channel " + std::to_string(announced->channel) +
                                            ", which is none");
    mailbox(announced->channel)
        .matcher.arrive(link.rank, announced->tag, std::move(announced->arrival));
    moved = true;
  }
  if (link.receiver.sender_is_short_of_room()) take_unexpected(link);
  return moved;
}

/// What nobody asked for yet keeps room from what somebody waits for.
void NodeTransport::take_unexpected(Link& link) {
  for (const auto& box : mailboxes_) {
    if (!box) continue;
    box->matcher.for_each_unexpected(link.rank,
                                     [&](Arrival& arrival) { link.receiver.keep(arrival); });
  }
}

void NodeTransport::expect_alive(const Mailbox& mailbox) {
  for (const Link& link : links_)
    // What it sent before it ended was taken in since it was seen to have ended.
    if (link.has_ended &&
        (mailbox.matcher.waits_for(link.rank) || link.sender.awaits_receiver(mailbox.completed)))
      throw Error(ErrorKind::transport,
                  "the process of rank " + std::to_string(link.rank) + ", on this node, has ended");
  look_at_processes();
}

void NodeTransport::look_at_processes() {
  using namespace std::chrono_literals;
  const auto now = Clock::now();
  if (now - last_look_ < 100ms) return;
  last_look_ = now;
  for (Link& link : links_) link.has_ended = link.has_ended || link.process.has_ended();
}

}  // namespace cohom
