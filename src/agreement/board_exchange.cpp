#include "agreement/board_exchange.hpp"

#include <span>

namespace cohom {

static_assert(sizeof(AgreementWords::Table) + ShortSum::short_bytes <= CallBoard::max_bytes);
static_assert(sizeof(AgreementWords::Table) + ShortSum::max_bytes <= CallBoard::max_long_bytes);
static_assert(ShortSum::max_ranks == CallBoard::max_long_ranks);
static_assert(std::size_t(CallBoard::max_ranks) <= ShortSum::max_vectors);

void BoardExchange::begin() {
  board_.begin(number_);
  own_ = words_.post();
  post();
}

bool BoardExchange::post() {
  posted_ = board_.has_posted(number_) || board_.post(number_, own_.words, own_.vector);
  return posted_;
}

void BoardExchange::tell(const AgreementWords::Table& own) {
  board_.leave(number_, words_.message_of(own));
  done_ = true;
}

bool BoardExchange::poll() {
  if (done_ || (!posted_ && !post())) return false;
  bool moved = false;
  for (; peer_ < ranks_ - 1; ++peer_) {
    const auto words = board_.words_of(number_, peer());
    if (!words) return moved;
    const auto arrived = AgreementWords::read_post(*words, ranks_, peer());
    words_.merge(arrived.table);
    elements_[static_cast<std::size_t>(peer())] = arrived.elements;
    moved = true;
  }
  add();
  done_ = true;
  return true;
}

void BoardExchange::add() {
  ShortSum* const sum = words_.sum();
  if (sum != nullptr && words_.all_make_this_call())
    sum->add_all(std::span(elements_).first(static_cast<std::size_t>(ranks_)),
                 static_cast<std::size_t>(rank_));
}

}  // namespace cohom
