#include "executor/rank_reduction.hpp"

#include "base/tags.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <utility>

namespace cohom {

RankReduction::RankReduction(const kernels::KernelTable& kernels, int rank, int ranks, int round,
                             std::size_t message_bytes, std::size_t longest)
    : kernels_(kernels),
      rank_(rank),
      ranks_(ranks),
      round_(round),
      message_bytes_(message_bytes),
      places_(places) {
  for (Place& place : places_) place.words.resize(longest);
}

void RankReduction::begin(Channel& channel) {
  channel_ = &channel;
  next_place_ = 0;
  waiting_.clear();
  finished_.clear();
  for (Place& place : places_) place.stage = Stage::idle;
}

void RankReduction::start(std::span<const std::uint64_t> contribution, std::span<std::uint64_t> sum,
                          Merge merge, std::uint64_t cookie) {
  waiting_.push_back({contribution, sum, merge, cookie});
  fill_places();
}

/// In the order in which they were started, so that both ends of a stream mean the same reduction.
void RankReduction::fill_places() {
  while (!waiting_.empty() && places_[next_place_].stage == Stage::idle) {
    Place& place = places_[next_place_];
    place.reduction = waiting_.front();
    waiting_.pop_front();
    const std::size_t index = std::exchange(next_place_, (next_place_ + 1) % places);
    if (first()) {
      std::ranges::copy(place.reduction.contribution, place.words.begin());
      enter(index, Stage::partial_leaves);
    } else {
      enter(index, Stage::partial_arrives);
    }
  }
}

void RankReduction::enter(std::size_t index, Stage stage) {
  Place& place = places_[index];
  const std::size_t count = place.reduction.contribution.size();
  place.stage = stage;
  place.messages_left = messages(count * 8);
  place.bytes_left = arrives(stage) ? count * 8 : 0;
  const std::span<const std::uint64_t> words = std::span(place.words).first(count);
  switch (stage) {
    case Stage::partial_arrives: return receive(index, rank_ - 1, false);
    case Stage::partial_leaves: return send(index, words, rank_ + 1, false);
    case Stage::sum_arrives: return receive(index, rank_ + 1, true);
    case Stage::sum_leaves: return send(index, words, rank_ - 1, true);
    case Stage::idle: return;
  }
}

void RankReduction::complete(const Completion& completion) {
  const std::size_t index = place_of_cookie(completion.cookie);
  Place& place = places_[index];
  if (arrives(place.stage)) place.bytes_left -= std::min(place.bytes_left, completion.bytes);
  if (--place.messages_left != 0) return;
  if (place.bytes_left != 0)
    throw Error(ErrorKind::transport, std::to_string(place.bytes_left) +
                                          " bytes of a sum are missing that " + waits_for() +
                                          " sends");
  advance(index);
}

/// What comes after a stage that is over.
void RankReduction::advance(std::size_t index) {
  Place& place = places_[index];
  switch (place.stage) {
    case Stage::partial_arrives:
      add_contribution(place);
      return enter(index, last() ? Stage::sum_leaves : Stage::partial_leaves);
    case Stage::partial_leaves: return enter(index, Stage::sum_arrives);
    case Stage::sum_arrives:
      if (!first()) return enter(index, Stage::sum_leaves);
      [[fallthrough]];
    case Stage::sum_leaves: finish(index); return fill_places();
    case Stage::idle: return;
  }
}

void RankReduction::add_contribution(Place& place) const {
  const void* const sources[] = {place.words.data(), place.reduction.contribution.data()};
  kernels_.merge(place.reduction.merge, sources, 2, place.reduction.contribution.size_bytes(),
                 place.words.data());
}

void RankReduction::finish(std::size_t index) {
  Place& place = places_[index];
  const Started& reduction = place.reduction;
  std::copy_n(place.words.begin(), reduction.sum.size(), reduction.sum.begin());
  finished_.push_back({reduction.cookie, reduction.contribution.size_bytes()});
  place.stage = Stage::idle;
}

std::size_t RankReduction::poll(std::span<Completion> out) {
  const std::size_t count = std::min(out.size(), finished_.size());
  std::copy_n(finished_.begin(), count, out.begin());
  finished_.erase(finished_.begin(), finished_.begin() + static_cast<std::ptrdiff_t>(count));
  return count;
}

void RankReduction::send(std::size_t place, std::span<const std::uint64_t> words, int peer,
                         bool down) {
  const auto bytes = std::as_bytes(words);
  for (std::size_t m = 0; m < messages(bytes.size()); ++m) {
    const std::size_t begin = m * message_bytes_;
    channel_->send(bytes.subspan(begin, std::min(message_bytes_, bytes.size() - begin)), peer,
                   rank_sum_tag(round_, place, down), rank_sum_cookie(round_, place));
  }
}

void RankReduction::receive(std::size_t place, int peer, bool down) {
  const auto words =
      std::span(places_[place].words).first(places_[place].reduction.contribution.size());
  const auto bytes = std::as_writable_bytes(words);
  for (std::size_t m = 0; m < messages(bytes.size()); ++m) {
    const std::size_t begin = m * message_bytes_;
    channel_->receive(bytes.subspan(begin, std::min(message_bytes_, bytes.size() - begin)), peer,
                      rank_sum_tag(round_, place, down), rank_sum_cookie(round_, place));
  }
}

std::size_t RankReduction::messages(std::size_t bytes) const {
  return std::max<std::size_t>(1, (bytes + message_bytes_ - 1) / message_bytes_);
}

}  // namespace cohom
