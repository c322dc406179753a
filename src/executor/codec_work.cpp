#include "executor/codec_work.hpp"

#include "base/phase_timer.hpp"

#include <algorithm>
#include <utility>

namespace cohom {

CodecWork::CodecWork(Round& round, const kernels::KernelTable& kernels, Memory& memory,
                     const RoundLayout& layout, PayloadLocations& locations, AgreedPieces& agreed)
    : round_(round),
      kernels_(kernels),
      memory_(memory),
      layout_(layout),
      locations_(locations),
      agreed_(agreed) {
  std::size_t max_sources = 0;
  for (const Step& step : schedule().steps)
    max_sources = std::max<std::size_t>(max_sources, step.source_count);
  merge_sources_.reserve(max_sources);
  sources_.reserve(max_sources);
  if (round.traits().grows) partial_sums_.reserve(max_sources);
  if (round.traits().merges_itself()) apart_sum_ = {memory, layout.longest_unit(Form::wide)};
}

void CodecWork::begin(Profile* profile) {
  profile_ = profile;
  partial_pieces_ = partial_words_ = 0;
}

std::optional<std::size_t> CodecWork::encode(const Task& task, Form form) {
  const std::uint32_t slot = step_of(task).result;
  const MessageUnit& unit = layout_.unit(slot, task.unit);
  const Payload capacity = locations_.space(slot, task.unit, form);
  // Where the words already lie in the user's input there is nothing to do. (One rank, not in
  // place: its contribution is the sum, and lies in the output.)
  const bool is_input = round_.traits().identity != Identity::none;
  if (is_input && locations_.in_input(slot, task.unit)) return capacity.size();
  const bool whole = round_.traits().scope == RoundScope::vector;
  if (partial_pieces_ == 0) {
    partial_ = task;
    partial_words_ = unit.header;
  }
  const Piece& next = locations_.piece(unit.first_piece + partial_pieces_);
  end_phase(profile_, Phase::other);
  const std::size_t words = round_.encode(contributions_of(form), next,
                                          whole ? capacity : capacity.subspan(partial_words_));
  end_phase(profile_, agreed_.agrees() ? Phase::agree : Phase::encode);
  agreed_.set_own(next, partial_words_, words);
  partial_words_ = whole ? words : partial_words_ + words;
  if (unit.divided) locations_.set_piece_end(slot, task.unit, next.index, partial_words_);
  if (++partial_pieces_ < unit.pieces) return std::nullopt;
  locations_.write_header(slot, task.unit);
  partial_pieces_ = 0;
  return std::exchange(partial_words_, 0);
}

std::size_t CodecWork::merge(const Task& task) {
  const std::uint32_t slot = step_of(task).result;
  const MessageUnit& unit = layout_.unit(slot, task.unit);
  end_phase(profile_, Phase::other);
  std::size_t words = 0;
  if (merges_by_piece(task)) {
    words = unit.header;
    for (std::size_t i = 0; i < unit.pieces; ++i) words = merge_piece(task, i, words);
    locations_.write_header(slot, task.unit);
  } else {
    read_sources(task, unit.first_piece, unit.pieces);
    words = merge_words(space_behind(task, unit.header)) + unit.header;
    if (unit.divided) copy_extents(task);
  }
  end_phase(profile_, Phase::merge);
  return words;
}

/// Whether each piece is merged for itself, and not all words of the unit at once.
bool CodecWork::merges_by_piece(const Task& task) const {
  const std::uint32_t slot = step_of(task).result;
  const RoundTraits& traits = round_.traits();
  if (layout_.unit(slot, task.unit).pieces == 1) return true;
  return layout_.unit(slot, task.unit).divided &&
         (promotes(task) || traits.merges_itself() || widens(task) ||
          (traits.finishes_sums() && layout_.is_complete(slot)));
}

bool CodecWork::promotes(const Task& task) const {
  return schedule().slots[schedule().sources_of(step_of(task))[0]].form == Form::narrow;
}

/// Whether the result has room for more contributions than a source.
bool CodecWork::widens(const Task& task) const {
  if (!round_.traits().grows) return false;
  const auto& slots = schedule().slots;
  return std::ranges::any_of(schedule().sources_of(step_of(task)), [&](std::uint32_t source) {
    return slots[source].room != slots[step_of(task).result].room;
  });
}

Payload CodecWork::space_behind(const Task& task, std::size_t words) const {
  const std::uint32_t slot = step_of(task).result;
  return locations_.space(slot, task.unit, schedule().slots[slot].form).subspan(words);
}

/// The sources' words of pieces that lie side by side.
void CodecWork::read_sources(const Task& task, std::size_t first_piece, std::size_t pieces) {
  sources_.clear();
  for (const std::uint32_t source : schedule().sources_of(step_of(task)))
    sources_.push_back(locations_.words(source, task.unit, first_piece, pieces));
}

/// Merges the unit's piece number `index` to its place, behind `begin` words. Returns where it
/// ends.
std::size_t CodecWork::merge_piece(const Task& task, std::size_t index, std::size_t begin) {
  const std::uint32_t slot = step_of(task).result;
  const MessageUnit& unit = layout_.unit(slot, task.unit);
  const Piece& piece = locations_.piece(unit.first_piece + index);
  const Payload result = space_behind(task, begin);
  read_sources(task, piece.index, 1);
  std::size_t words = 0;
  if (promotes(task))
    words = round_.promote(piece, sources_, schedule().slots[slot].room, result);
  else if (round_.traits().merges_itself())
    words = merge_apart(piece, result);
  else if (widens(task))
    words = widen(task, piece, result);
  else
    words = merge_words(result);
  if (!promotes(task) || round_.traits().finishes_promoted())
    words = finish(slot, piece, result, words);
  if (unit.divided) locations_.set_piece_end(slot, task.unit, piece.index, begin + words);
  return begin + words;
}

std::size_t CodecWork::finish_sum(std::uint32_t slot, std::uint32_t unit, std::size_t words) {
  return finish(slot, locations_.piece_of(slot, unit),
                locations_.space(slot, unit, schedule().slots[slot].form), words);
}

std::size_t CodecWork::finish(std::uint32_t slot, const Piece& piece, Payload sum,
                              std::size_t words) {
  if (!round_.traits().finishes_sums() || !layout_.is_complete(slot)) return words;
  return round_.finish(piece, sum, words);
}

/// Words that are merged one by one: all sources have the same length.
std::size_t CodecWork::merge_words(Payload result) {
  const std::size_t words = sources_[0].size();
  merge_sources_.clear();
  for (const ConstPayload source : sources_) {
    expect_length(source.size() * 8, words * 8);
    merge_sources_.push_back(source.data());
  }
  kernels_.merge(round_.traits().merge, merge_sources_.data(), merge_sources_.size(), words * 8,
                 result.data());
  return words;
}

std::size_t CodecWork::widen(const Task& task, const Piece& piece, Payload result) {
  const auto& slots = schedule().slots;
  const auto sources = schedule().sources_of(step_of(task));
  partial_sums_.clear();
  for (std::size_t s = 0; s < sources.size(); ++s)
    partial_sums_.push_back({sources_[s], slots[sources[s]].room});
  return round_.widen(piece, partial_sums_, slots[step_of(task).result].room, result);
}

/// Words that were merged at once have the sources' lengths, which must all be the same.
void CodecWork::copy_extents(const Task& task) {
  const std::uint32_t slot = step_of(task).result;
  const MessageUnit& unit = layout_.unit(slot, task.unit);
  const auto sources = schedule().sources_of(step_of(task));
  std::size_t end = unit.header;
  for (std::size_t i = 0; i < unit.pieces; ++i) {
    const std::size_t piece = unit.first_piece + i;
    const std::size_t words = locations_.words(sources[0], task.unit, piece).size();
    for (const std::uint32_t source : sources.subspan(1))
      expect_length(8 * locations_.words(source, task.unit, piece).size(), 8 * words);
    end += words;
    locations_.set_piece_end(slot, task.unit, piece, end);
  }
  locations_.write_header(slot, task.unit);
}

std::size_t CodecWork::merge_apart(const Piece& piece, Payload result) {
  const bool in_place = std::ranges::any_of(
      sources_, [&](ConstPayload source) { return source.data() == result.data(); });
  // A sum may be longer than what it replaces.
  const Payload sum = in_place ? Payload{apart_sum_.data(), apart_sum_.size()} : result;
  const std::size_t words = round_.merge(piece, sources_, sum);
  if (in_place) memory_.copy(result.data(), sum.data(), words * 8);
  return words;
}

std::size_t CodecWork::join(const Task& task) {
  const std::uint32_t slot = step_of(task).result;
  const MessageUnit& unit = layout_.unit(slot, task.unit);
  std::size_t words = unit.header;
  end_phase(profile_, Phase::other);
  for (const std::uint32_t source : schedule().sources_of(step_of(task))) {
    if (task.unit >= layout_.units_of(source).size()) continue;
    const MessageUnit& part = layout_.unit(source, task.unit);
    const ConstPayload joined = locations_.words(source, task.unit, part.first_piece, part.pieces);
    const Payload place = space_behind(task, words);
    if (place.data() != joined.data())
      memory_.copy(place.data(), joined.data(), joined.size_bytes());
    for (std::size_t p = part.first_piece; p < part.first_piece + part.pieces; ++p) {
      words += locations_.words(source, task.unit, p).size();
      if (unit.divided) locations_.set_piece_end(slot, task.unit, p, words);
    }
  }
  locations_.write_header(slot, task.unit);
  end_phase(profile_, Phase::merge);
  return words;
}

void CodecWork::decode(const Task& task) {
  const std::uint32_t source = schedule().sources_of(step_of(task))[0];
  // A merge of ours made the NaNs canonical. A lone contribution was never merged, and an
  // aggregator's NaNs are its own and differ from rank to rank: these are decoded in place.
  if (locations_.in_output(source, task.unit) && !layout_.is_contribution(source) &&
      !layout_.links().offloads())
    return;
  end_phase(profile_, Phase::other);
  const MessageUnit& unit = layout_.unit(source, task.unit);
  for (std::size_t p = unit.first_piece; p < unit.first_piece + unit.pieces; ++p)
    round_.decode(locations_.piece(p), locations_.words(source, task.unit, p),
                  schedule().slots[source].contributions);
  end_phase(profile_, Phase::decode);
}

}  // namespace cohom
