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
      in_flight_(max_in_flight) {
  for (Running& current : in_flight_) current.words.resize(longest);
}

void RankReduction::begin(Channel& channel) {
  channel_ = &channel;
  next_ = 0;
  waiting_.clear();
  completed_.clear();
  for (Running& current : in_flight_) current.stage = Stage::idle;
}

void RankReduction::start(std::span<const std::uint64_t> contribution, std::span<std::uint64_t> sum,
                          Merge merge, std::uint64_t cookie) {
  waiting_.push_back({contribution, sum, merge, cookie});
  start_waiting();
}

/// In the order in which they were started, so that both ends of a sequence mean the same
/// reduction.
void RankReduction::start_waiting() {
  while (!waiting_.empty() && in_flight_[next_].stage == Stage::idle) {
    Running& current = in_flight_[next_];
    current.reduction = waiting_.front();
    waiting_.pop_front();
    const std::size_t index = std::exchange(next_, (next_ + 1) % max_in_flight);
    if (first()) {
      std::ranges::copy(current.reduction.contribution, current.words.begin());
      enter(index, Stage::partial_leaves);
    } else {
      enter(index, Stage::partial_arrives);
    }
  }
}

void RankReduction::enter(std::size_t index, Stage stage) {
  Running& current = in_flight_[index];
  const std::size_t count = current.reduction.contribution.size();
  current.stage = stage;
  current.messages_left = messages(count * 8);
  current.bytes_left = arrives(stage) ? count * 8 : 0;
  const std::span<const std::uint64_t> words = std::span(current.words).first(count);
  switch (stage) {
    case Stage::partial_arrives: return receive(index, rank_ - 1, false);
    case Stage::partial_leaves: return send(index, words, rank_ + 1, false);
    case Stage::sum_arrives: return receive(index, rank_ + 1, true);
    case Stage::sum_leaves: return send(index, words, rank_ - 1, true);
    case Stage::idle: return;
  }
}

void RankReduction::complete(const Completion& completion) {
  const std::size_t index = reduction_of_cookie(completion.cookie);
  Running& current = in_flight_[index];
  if (arrives(current.stage)) current.bytes_left -= std::min(current.bytes_left, completion.bytes);
  if (--current.messages_left != 0) return;
  if (current.bytes_left != 0)
    throw Error(ErrorKind::transport, std::to_string(current.bytes_left) +
                                          " bytes of a sum are missing that " + waits_for() +
                                          " sends");
  advance(index);
}

/// What comes after a stage that is over.
void RankReduction::advance(std::size_t index) {
  Running& current = in_flight_[index];
  switch (current.stage) {
    case Stage::partial_arrives:
      add_contribution(current);
      return enter(index, last() ? Stage::sum_leaves : Stage::partial_leaves);
    case Stage::partial_leaves: return enter(index, Stage::sum_arrives);
    case Stage::sum_arrives:
      if (!first()) return enter(index, Stage::sum_leaves);
      [[fallthrough]];
    case Stage::sum_leaves: complete_one(index); return start_waiting();
    case Stage::idle: return;
  }
}

void RankReduction::add_contribution(Running& current) const {
  const void* const sources[] = {current.words.data(), current.reduction.contribution.data()};
  kernels_.merge(current.reduction.merge, sources, 2, current.reduction.contribution.size_bytes(),
                 current.words.data());
}

void RankReduction::complete_one(std::size_t index) {
  Running& current = in_flight_[index];
  const Started& reduction = current.reduction;
  std::copy_n(current.words.begin(), reduction.sum.size(), reduction.sum.begin());
  completed_.push_back({reduction.cookie, reduction.contribution.size_bytes()});
  current.stage = Stage::idle;
}

std::size_t RankReduction::poll(std::span<Completion> out) {
  const std::size_t count = std::min(out.size(), completed_.size());
  std::copy_n(completed_.begin(), count, out.begin());
  completed_.erase(completed_.begin(), completed_.begin() + static_cast<std::ptrdiff_t>(count));
  return count;
}

void RankReduction::send(std::size_t index, std::span<const std::uint64_t> words, int peer,
                         bool down) {
  const auto bytes = std::as_bytes(words);
  for (std::size_t m = 0; m < messages(bytes.size()); ++m) {
    const std::size_t begin = m * message_bytes_;
    channel_->send(bytes.subspan(begin, std::min(message_bytes_, bytes.size() - begin)), peer,
                   rank_sum_tag(round_, index, down), rank_sum_cookie(round_, index));
  }
}

void RankReduction::receive(std::size_t index, int peer, bool down) {
  const auto words =
      std::span(in_flight_[index].words).first(in_flight_[index].reduction.contribution.size());
  const auto bytes = std::as_writable_bytes(words);
  for (std::size_t m = 0; m < messages(bytes.size()); ++m) {
    const std::size_t begin = m * message_bytes_;
    channel_->receive(bytes.subspan(begin, std::min(message_bytes_, bytes.size() - begin)), peer,
                      rank_sum_tag(round_, index, down), rank_sum_cookie(round_, index));
  }
}

std::size_t RankReduction::messages(std::size_t bytes) const {
  return std::max<std::size_t>(1, (bytes + message_bytes_ - 1) / message_bytes_);
}

}  // namespace cohom
