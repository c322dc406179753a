#include "agreement/maximum_exchange.hpp"

#include "base/tags.hpp"

#include <span>

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
  if (hop.receives) channel_.receive_or_lend(buffer(), hop.peer, call_tag);
  if (!hop.sends) return;
  channel_.send(words_.message(), hop.peer, call_tag);
  ShortSum* const sum = words_.sum();
  const std::size_t sections = sum != nullptr ? ShortSum::sections_of(sum->bytes()) : 1;
  for (std::size_t number = 1; number < sections; ++number)
    channel_.send(sum->section(number), hop.peer, section_tag);
}

void MaximumExchange::complete(const Completion& completion) {
  if (!is_sent(completion.cookie)) {
    if (sections_left_ == 0)
      take_words(completion);
    else
      take_section(completion);
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

void MaximumExchange::take_words(const Completion& completion) {
  // Even if they cannot be read: sections follow a full message.
  is_owed_sections_ = completion.bytes == AgreementWords::max_bytes;
  is_lent_ = completion.lent != nullptr;
  arrived_ = AgreementWords::read({is_lent_ ? completion.lent : buffer().data(), completion.bytes},
                                  channel_.ranks(), peer());
  sections_left_ = ShortSum::sections_of(arrived_.bytes) - 1;
  if (sections_left_ != 0) receive_sections();
  is_owed_sections_ = sections_left_ != 0 && !takes_arrived();
}

/// Not before the words have said that they come: no receive may wait where nothing is sent.
void MaximumExchange::receive_sections() {
  if (!takes_arrived()) return receive_unwanted();
  const std::size_t sections = sections_left_ + 1;
  for (std::size_t number = 1; number < sections; ++number)
    channel_.receive(words_.sum()->incoming(number), peer(), section_tag, number);
}

/// One after the other.
void MaximumExchange::receive_unwanted() {
  channel_.receive(buffer().first(ShortSum::section_bytes), peer(), section_tag);
}

void MaximumExchange::take_section(const Completion& completion) {
  const bool wanted = takes_arrived();
  const std::size_t number = wanted ? index_of_cookie(completion.cookie)
                                    : ShortSum::sections_of(arrived_.bytes) - sections_left_;
  CallChannel::expect_bytes(completion.bytes, ShortSum::bytes_of_section(arrived_.bytes, number),
                            peer());
  --sections_left_;
  if (wanted) return;
  if (sections_left_ != 0) receive_unwanted();
  is_owed_sections_ = sections_left_ != 0;
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
