#include "rounds/stepped_round.hpp"

#include "kernels/table/kernel_table.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

namespace cohom {

namespace {

/// Words of the only part, if there is one.
std::size_t words_of(const RoundWords& words) {
  return words.parts() == 0 ? 0 : words.part(0).size();
}

std::vector<std::uint64_t> sum_of_two(const Merge& merge, ConstPayload lower, ConstPayload upper) {
  std::vector<std::uint64_t> sum(lower.size());
  const void* const operands[] = {lower.data(), upper.data()};
  kernels::kernel_table().merge(merge, operands, 2, lower.size_bytes(), sum.data());
  return sum;
}

/// Of floats, in the order of recursive doubling, by which executors run rounds of a whole vector.
std::vector<std::uint64_t> sum_in_pairs(const Merge& merge, std::span<const ConstPayload> parts) {
  // Where the ranks are no power of two, the first ones pair up beforehand.
  const std::size_t pairs = parts.size() - std::bit_floor(parts.size());
  std::vector<std::vector<std::uint64_t>> sums;
  for (std::size_t rank = 0; rank < parts.size(); ++rank)
    if (rank < 2 * pairs && rank % 2 == 1)
      sums.back() = sum_of_two(merge, sums.back(), parts[rank]);
    else
      sums.emplace_back(parts[rank].begin(), parts[rank].end());
  for (; sums.size() > 1; sums.resize(sums.size() / 2))
    for (std::size_t i = 0; i < sums.size() / 2; ++i)
      sums[i] = sum_of_two(merge, sums[2 * i], sums[2 * i + 1]);
  return sums[0];
}

}  // namespace

SteppedRound::SteppedRound(int rank, int ranks, const RoundsOptions& options)
    : rank_(static_cast<std::size_t>(rank)),
      ranks_(static_cast<std::size_t>(ranks)),
      options_(options),
      step_(options) {}

void SteppedRound::begin(Round& round, std::span<const Piece> pieces, RoundWords& agreed,
                         ReductionKind collective) {
  round_ = &round;
  collective_ = ranks_ == 1 ? ReductionKind::allreduce : collective;  // its part is all there is
  pieces_ = pieces;
  shape_ = RoundShape(round, ranks_, options_, scatters());
  sums_ = traits().time == RoundTime::before_payload ? &agreed : &decoded_;
  stage_ = Stage::first;
  encode();
}

const RoundStep* SteppedRound::next() {
  switch (stage_) {
    case Stage::first:
      if (const RoundStep* const step = first_step()) return step;
      take_reduced();
      break;
    case Stage::reduced:
      step_.end_reduction();
      take_reduced();
      break;
    case Stage::gathered: take_gathered(); break;
    case Stage::lengths: take_contribution_lengths(); return contributions_step();
    case Stage::contributions:
      add_contributions();
      if (scatters()) break;
      return shape_.sums_have_own_lengths() ? sum_lengths_step() : sums_step();
    case Stage::sum_lengths: take_sum_lengths(); return sums_step();
    case Stage::sums: take_sums(); break;
  }
  decode();
  round_ = nullptr;
  return nullptr;
}

/// Where the sum of it would be, as nothing is added.
void SteppedRound::encode_own_piece() {
  own_sum_.clear();
  const Piece* const own = own_piece();
  if (own == nullptr) return;
  const Payload room = own_sum_.add(shape_.sum_capacity(own->count));
  own_sum_.resize_last(round_->encode(ranks_, *own, room));
}

void SteppedRound::encode() {
  contributions_.clear();
  if (gathers()) return encode_own_piece();
  if (!shape_.is_whole()) {
    for (const Piece& piece : pieces_) {
      const Payload room = contributions_.add(shape_.contribution_capacity(piece.count));
      contributions_.resize_last(round_->encode(shape_.contributors(), piece, room));
    }
    return;
  }
  const Piece& last = pieces_.back();
  const Payload room = contributions_.add(shape_.contribution_capacity(last.first + last.count));
  std::size_t words = 0;
  for (const Piece& piece : pieces_) words = round_->encode(shape_.contributors(), piece, room);
  contributions_.resize_last(words);
}

/// None: this rank is alone, or all ranks have no words.
const RoundStep* SteppedRound::first_step() {
  if (ranks_ == 1) return nullptr;
  if (gathers()) return sum_lengths_step();
  switch (shape_.way()) {
    case RoundShape::Way::reduce:
      if (contributions_.all().empty()) return nullptr;
      stage_ = Stage::reduced;
      return step_.reduce(traits().name, traits().merge, contributions_.all());
    case RoundShape::Way::gather: return gather_step();
    case RoundShape::Way::owners: break;
  }
  // Contributions to a piece are equally long where earlier rounds have said how long.
  if (traits().merges_itself()) return lengths_step();
  const Piece* const own = own_piece();
  step_.receive_counts().assign(ranks_,
                                own == nullptr ? 0 : contributions_.part(own->index).size());
  return contributions_step();
}

void SteppedRound::take_reduced() {
  if (!shape_.is_narrow() && !shape_.finishes()) {
    sums_->take(contributions_);
    return;
  }
  sums_->clear();
  for (const Piece& piece : pieces_) {
    const ConstPayload words = std::as_const(contributions_).part(piece.index);
    const Payload sum = sums_->add(shape_.sum_capacity(piece.count));
    if (shape_.is_narrow()) {  // one rank alone
      sums_->resize_last(round_->promote(piece, std::span(&words, 1), 1, sum));
    } else {
      std::ranges::copy(words, sum.begin());
      sums_->resize_last(round_->finish(piece, sum, words.size()));
    }
  }
}

void SteppedRound::decode() {
  if (traits().time == RoundTime::before_payload) return;
  for (const Piece& piece : pieces_)
    if (!scatters() || &piece == own_piece()) round_->decode(piece, sum_of(piece), ranks_);
}

ConstPayload SteppedRound::sum_of(const Piece& piece) const {
  // Of a reduce_scatter an owner keeps what it has added up.
  if (scatters() && stage_ == Stage::contributions) return own_sum_.part(0);
  return std::as_const(*sums_).part(shape_.is_whole() ? 0 : piece.index);
}

// Words that somebody else exchanges.

const RoundStep* SteppedRound::exchange_step(Stage stage, Collective kind, ConstPayload send) {
  stage_ = stage;
  return step_.exchange(traits().name, kind, send);
}

const RoundStep* SteppedRound::gather_step() {
  step_.send_counts().assign(1, contributions_.all().size());
  step_.receive_counts().assign(ranks_, contributions_.all().size());
  return exchange_step(Stage::gathered, Collective::all_gather, contributions_.all());
}

void SteppedRound::take_gathered() {
  sums_->clear();
  if (traits().merge.kind != MergeKind::add_float) {
    merge(pieces_.back(), step_.received_parts(), *sums_);
    return;
  }
  const std::vector<std::uint64_t> sum = sum_in_pairs(traits().merge, step_.received_parts());
  std::ranges::copy(sum, sums_->add(sum.size()).begin());
}

const RoundStep* SteppedRound::lengths_step() {
  lengths_.assign(ranks_, 0);
  for (const Piece& piece : pieces_)
    lengths_[piece.index] = contributions_.part(piece.index).size();
  step_.send_counts().assign(ranks_, 1);
  step_.receive_counts().assign(ranks_, 1);
  return exchange_step(Stage::lengths, Collective::all_to_all, lengths_);
}

template <class MostOf>
void SteppedRound::take_lengths(std::string_view what, MostOf most_of) {
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    const std::uint64_t words = step_.received()[rank];
    const std::size_t most = most_of(rank);
    if (words > most)
      throw Error(ErrorKind::transport, "rank " + std::to_string(rank) + " has " +
                                            std::string(what) + " of " + std::to_string(words) +
                                            " words in round " + std::string(traits().name) +
                                            ", which has at most " + std::to_string(most));
    step_.receive_counts()[rank] = words;
  }
}

void SteppedRound::take_contribution_lengths() {
  const Piece* const own = own_piece();
  const std::size_t most = own == nullptr ? 0 : shape_.contribution_capacity(own->count);
  take_lengths("a contribution", [most](std::size_t) { return most; });
}

void SteppedRound::take_sum_lengths() {
  take_lengths("a sum", [this](std::size_t owner) {
    return owner < pieces_.size() ? shape_.sum_capacity(pieces_[owner].count) : 0;
  });
}

const Piece* SteppedRound::own_piece() const {
  return rank_ < pieces_.size() ? &pieces_[rank_] : nullptr;
}

const RoundStep* SteppedRound::contributions_step() {
  step_.send_counts().assign(ranks_, 0);
  for (const Piece& piece : pieces_)
    step_.send_counts()[piece.index] = contributions_.part(piece.index).size();
  return exchange_step(Stage::contributions, Collective::all_to_all, contributions_.all());
}

void SteppedRound::add_contributions() {
  own_sum_.clear();
  const Piece* const own = own_piece();
  if (own == nullptr) return;
  const auto sources = step_.received_parts();
  if (shape_.is_narrow()) {
    const Payload room = own_sum_.add(shape_.sum_capacity(own->count));
    own_sum_.resize_last(round_->promote(*own, sources, ranks_, room));
  } else {
    merge(*own, sources, own_sum_);
  }
  if (shape_.finishes()) {
    const std::size_t words = words_of(own_sum_);
    own_sum_.resize_last(shape_.sum_capacity(own->count));
    own_sum_.resize_last(round_->finish(*own, own_sum_.part(0), words));
  }
}

/// In the order of ranks.
void SteppedRound::merge(const Piece& piece, std::span<const ConstPayload> sources,
                         RoundWords& sums) {
  if (traits().merges_itself()) {
    const Payload room = sums.add(shape_.sum_capacity(piece.count));
    sums.resize_last(round_->merge(piece, sources, room));
    return;
  }
  std::vector<const void*> addresses;
  for (const ConstPayload source : sources) addresses.push_back(source.data());
  const Payload sum = sums.add(sources[0].size());
  kernels::kernel_table().merge(traits().merge, addresses.data(), addresses.size(),
                                sum.size_bytes(), sum.data());
}

const RoundStep* SteppedRound::sum_lengths_step() {
  lengths_.assign(1, words_of(own_sum_));
  step_.send_counts().assign(1, 1);
  step_.receive_counts().assign(ranks_, 1);
  return exchange_step(Stage::sum_lengths, Collective::all_gather, lengths_);
}

const RoundStep* SteppedRound::sums_step() {
  if (!shape_.sums_have_own_lengths()) {
    step_.receive_counts().assign(ranks_, 0);
    for (const Piece& piece : pieces_)
      step_.receive_counts()[piece.index] = shape_.sum_words(piece.count);
  }
  step_.send_counts().assign(1, words_of(own_sum_));
  return exchange_step(Stage::sums, Collective::all_gather, own_sum_.all());
}

void SteppedRound::take_sums() {
  sums_->clear();
  const auto parts = step_.received_parts();
  for (const Piece& piece : pieces_)
    std::ranges::copy(parts[piece.index], sums_->add(parts[piece.index].size()).begin());
}

}  // namespace cohom
