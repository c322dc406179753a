#include "rounds/round_words.hpp"

namespace cohom {

void RoundWords::clear() {
  words_.clear();
  ends_.clear();
}

Payload RoundWords::add(std::size_t words) {
  words_.resize(words_.size() + words);
  ends_.push_back(words_.size());
  return part(parts() - 1);
}

void RoundWords::resize_last(std::size_t words) {
  ends_.back() = begin_of(parts() - 1) + words;
  words_.resize(ends_.back());
}

void RoundWords::take(RoundWords& other) {
  clear();
  words_.swap(other.words_);
  ends_.swap(other.ends_);
}

Payload RoundWords::part(std::size_t index) {
  return Payload(words_).subspan(begin_of(index), ends_[index] - begin_of(index));
}

ConstPayload RoundWords::part(std::size_t index) const {
  return ConstPayload(words_).subspan(begin_of(index), ends_[index] - begin_of(index));
}

}  // namespace cohom
