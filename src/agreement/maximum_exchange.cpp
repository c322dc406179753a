#include "agreement/maximum_exchange.hpp"

#include "base/tags.hpp"

#include <span>
#include <utility>

namespace cohom {

void MaximumExchange::begin() {
  if (!done()) start_hop();
}

void MaximumExchange::tell(const AgreementWords::Table& own) {
  const auto message = words_.message_of(own);
  for (int hop = 0; hop < hops_.count(); ++hop)
    if (hops_[hop].sends) channel_.try_send(message, hops_[hop].peer, call_tag);
}

void MaximumExchange::start_hop() {
  const DoublingHop hop = hops_[hop_];
  if (hop.receives)
    channel_.receive_or_lend(std::as_writable_bytes(std::span(arriving_)), hop.peer, call_tag);
  if (!hop.sends) return;
  channel_.send(words_.message(), hop.peer, call_tag);
  ShortSum* const sum = words_.sum();
  if (sum != nullptr && !sum->rest().empty()) channel_.send(sum->rest(), hop.peer, rest_tag);
}

void MaximumExchange::complete(const Completion& completion) {
  if (!is_sent(completion.cookie)) {
    if (std::exchange(awaits_rest_, false))
      CallChannel::expect_bytes(completion.bytes, arrived_.rest_bytes, peer());
    else
      read(completion);
  }
  if (channel_.pending() != 0) return;
  if (hops_[hop_].receives) merge_arrived();
  ++hop_;
  if (done()) return;
  start_hop();
  // Who only passes on what all ranks have has it itself.
  ShortSum* const sum = words_.sum();
  if (!hops_[hop_].receives && sum != nullptr && words_.all_make_this_call()) sum->write_output();
}

void MaximumExchange::read(const Completion& completion) {
  is_lent_ = completion.lent != nullptr;
  const std::byte* const here = reinterpret_cast<const std::byte*>(arriving_.data());
  arrived_ = AgreementWords::read({is_lent_ ? completion.lent : here, completion.bytes},
                                  channel_.ranks(), peer());
  if (arrived_.rest_bytes != 0) receive_rest();
}

/// Not before its sender's words have said that it comes: nothing may wait where nothing is sent.
void MaximumExchange::receive_rest() {
  ShortSum* const sum = words_.sum();
  std::span<std::byte> room;
  if (sum != nullptr && sum->rest().size() == arrived_.rest_bytes) {
    room = sum->room_for_rest();
  } else {
    unwanted_ = std::make_unique_for_overwrite<std::byte[]>(arrived_.rest_bytes);
    room = {unwanted_.get(), arrived_.rest_bytes};
  }
  awaits_rest_ = true;
  channel_.receive(room, peer(), rest_tag);
}

void MaximumExchange::merge_arrived() {
  words_.merge(arrived_.table);
  ShortSum* const sum = words_.sum();
  if (sum != nullptr && words_.all_make_this_call()) {
    const DoublingHop hop = hops_[hop_];
    if (hop.final)
      sum->take(arrived_.elements);
    else
      sum->add(arrived_.elements, hop.own_first, hop_ + 1 == hops_.count());
  }
  if (is_lent_) channel_.give_back(arrived_.elements - sizeof arrived_.table);
}

}  // namespace cohom
