#include "node_window/node_channel.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <string>

namespace cohom {

namespace {

/// What one poll copies at least before it lets the rank go on with its other work.
constexpr std::size_t bytes_a_poll = std::size_t{256} << 10;

/// Where nothing of this channel goes beyond the node, the other transport makes progress for what
/// else uses it: a user's own messages may wait for that.
constexpr std::size_t idle_polls_a_look_beyond = 16;
constexpr std::size_t idle_polls_a_look_at_processes = 256;

/// Shorter messages are sooner copied than remembered.
bool may_be_read_there(const Arrival& arrival) {
  constexpr std::size_t min_bytes = 1024;
  return arrival.words != nullptr && arrival.bytes >= min_bytes &&
         reinterpret_cast<std::uintptr_t>(arrival.words) % 8 == 0 &&
         may_stay(arrival.mark, WindowLayout::slots_of(arrival.bytes));
}

}  // namespace

bool NodeChannel::ends_at_once() const {
  return transport_.is_one_node() || channel_->ends_at_once();
}

bool NodeChannel::give_up() noexcept {
  end();
  return !channel_ || channel_->give_up();
}

/// What others still read of this rank's memory is void, as they learn.
void NodeChannel::end() noexcept {
  if (ended_ || !transport_.mailboxes_[number_]) return;
  ended_ = true;
  Mailbox& box = mailbox();
  // Asked only where something is under way: otherwise nothing in a window is touched.
  if (is_under_way() && !transport_.windows_.window->is_of_this_process()) return;
  bool early = has_failed_ || box.matcher.has_receives();
  for (NodeTransport::Link& link : transport_.links_) early |= link.sender.end(box.completed);
  const auto drop = [&](const Arrival& arrival) {
    transport_.link_to(arrival.rank)->receiver.drop(arrival);
  };
  box.matcher.end_receives(drop);
  std::ranges::for_each(box.lent, drop);
  box.lent.clear();
  box.completed.clear();
  transport_.call_ended_early_ |= early;
  transport_.keep_mailbox(number_);
}

bool NodeChannel::is_under_way() {
  const Mailbox& box = mailbox();
  return has_failed_ || box.matcher.has_receives() || !box.lent.empty() ||
         std::ranges::any_of(transport_.links_, [&](const NodeTransport::Link& link) {
           return link.sender.awaits_receiver(box.completed);
         });
}

void NodeChannel::send(std::span<const std::byte> data, int peer, std::uint32_t tag,
                       std::uint64_t cookie) {
  NodeTransport::Link* const link = transport_.link_to(peer);
  if (link == nullptr) {
    own_channel_beyond().send(data, peer, tag, cookie);
    ++open_beyond_;
    return;
  }
  if (tag >= Transport::tag_limit)
    throw Error(ErrorKind::transport, "tag " + std::to_string(tag) + " is not below " +
                                          std::to_string(Transport::tag_limit));
  has_failed_ = true;  // part of the message may have left by then
  link->sender.send({.data = data,
                     .channel = number_,
                     .tag = tag,
                     .completion = {cookie, data.size()},
                     .completed = &mailbox().completed});
  has_failed_ = false;
  transport_.counters_.bytes_sent += data.size();
  ++transport_.counters_.messages_sent;
}

void NodeChannel::receive(std::span<std::byte> buffer, int peer, std::uint32_t tag,
                          std::uint64_t cookie) {
  if (transport_.link_to(peer) != nullptr)
    return mailbox().matcher.post(peer, tag, buffer, cookie, false);
  own_channel_beyond().receive(buffer, peer, tag, cookie);
  ++open_beyond_;
}

void NodeChannel::receive_or_lend(std::span<std::byte> buffer, int peer, std::uint32_t tag,
                                  std::uint64_t cookie) {
  if (transport_.link_to(peer) != nullptr)
    return mailbox().matcher.post(peer, tag, buffer, cookie, true);
  own_channel_beyond().receive_or_lend(buffer, peer, tag, cookie);
  ++open_beyond_;
}

void NodeChannel::give_back(const std::byte* lent) {
  std::vector<Arrival>& all = mailbox().lent;
  const auto found = std::ranges::find(all, lent, &Arrival::words);
  if (found == all.end()) return beyond().give_back(lent);
  const Arrival arrival = std::move(*found);
  all.erase(found);
  has_failed_ = true;
  transport_.link_to(arrival.rank)->receiver.give_back(arrival);
  has_failed_ = false;
}

std::size_t NodeChannel::poll(std::span<Completion> out) {
  if (out.empty()) return 0;
  const bool moved = transport_.advance();
  take_matches();
  std::size_t count = mailbox().completed.pop(out);
  idle_polls_ = moved || count != 0 ? 0 : idle_polls_ + 1;
  if (open_beyond_ != 0 || idle_polls_ % idle_polls_a_look_beyond == 1)
    count += poll_beyond(out.subspan(count));
  if (idle_polls_ % idle_polls_a_look_at_processes == 1) transport_.expect_alive(mailbox());
  return count;
}

std::size_t NodeChannel::poll_beyond(std::span<Completion> out) {
  if (out.empty()) return 0;
  const std::size_t count = beyond().poll(out);
  open_beyond_ -= count;
  return count;
}

void NodeChannel::take_matches() {
  Mailbox& box = mailbox();
  for (std::size_t bytes = 0; box.matcher.has_match() && bytes < bytes_a_poll;) {
    const MessageMatcher::Match match = box.matcher.pop_match();
    if (match.may_lend && !match.too_long && may_be_read_there(match.arrival)) {
      Completion completion = *match.completion;
      completion.lent = match.arrival.words;
      box.lent.push_back(match.arrival);
      box.completed.push(completion);
      continue;
    }
    has_failed_ = true;
    take_match(match);
    has_failed_ = false;
    bytes += match.arrival.bytes;
    if (match.completion) box.completed.push(*match.completion);
  }
}

void NodeChannel::take_match(const MessageMatcher::Match& match) {
  WindowReceiver& receiver = transport_.link_to(match.arrival.rank)->receiver;
  if (match.too_long) {
    receiver.drop(match.arrival);
    throw Error(ErrorKind::transport, "a message of rank " + std::to_string(match.arrival.rank) +
                                          " is longer than its receive");
  }
  receiver.take(match.arrival, match.to);
}

bool NodeChannel::flushed() {
  if (!has_left()) {
    transport_.advance();
    if (!has_left()) return false;
  }
  return !channel_ || channel_->flushed();
}

bool NodeChannel::has_left() {
  const CompletionQueue& completed = mailbox().completed;
  return std::ranges::all_of(transport_.links_, [&](const NodeTransport::Link& link) {
    return link.sender.has_left(completed);
  });
}

/// A rank that sends to itself does so beyond the windows.
Channel& NodeChannel::own_channel_beyond() {
  if (!channel_) channel_ = transport_.transport_->open(number_);
  return *channel_;
}

}  // namespace cohom
