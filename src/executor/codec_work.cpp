#include "executor/codec_work.hpp"

#include "base/phase_timer.hpp"

#include <algorithm>
#include <utility>

namespace cohom {

CodecWork::CodecWork(Round& round, const kernels::KernelTable& kernels, Memory& memory,
                     const RoundLayout& layout, const PayloadLocations& locations,
                     AgreedPieces& agreed)
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
  if (partial_pieces_ == 0) partial_ = task;
  const Piece& next = locations_.piece(unit.first_piece + partial_pieces_);
  end_phase(profile_, Phase::other);
  const std::size_t words = round_.encode(contributions_of(form), next,
                                          whole ? capacity : capacity.subspan(partial_words_));
  end_phase(profile_, agreed_.agrees() ? Phase::agree : Phase::encode);
  agreed_.set_own(next, partial_words_, words);
  partial_words_ = whole ? words : partial_words_ + words;
  if (++partial_pieces_ < unit.pieces) return std::nullopt;
  partial_pieces_ = 0;
  return std::exchange(partial_words_, 0);
}

std::size_t CodecWork::merge(const Task& task) {
  const Step& step = step_of(task);
  const auto sources = schedule().sources_of(step);
  const Slot& slot = schedule().slots[step.result];
  const Payload result = locations_.space(step.result, task.unit, slot.form);
  sources_.clear();
  for (const std::uint32_t source : sources)
    sources_.push_back(locations_.words(source, task.unit));
  end_phase(profile_, Phase::other);
  const bool promotes = schedule().slots[sources[0]].form == Form::narrow;
  std::size_t words = 0;
  if (promotes)
    words = round_.promote(locations_.piece_of(step.result, task.unit), sources_, result);
  else if (round_.traits().merges_itself())
    words = merge_apart(locations_.piece_of(step.result, task.unit), result);
  else
    words = merge_words(result);
  if (!promotes || round_.traits().finishes_promoted())
    words = finish_sum(step.result, task.unit, words);
  end_phase(profile_, Phase::merge);
  return words;
}

std::size_t CodecWork::finish_sum(std::uint32_t slot, std::uint32_t unit, std::size_t words) {
  const Slot& sum = schedule().slots[slot];
  const auto ranks = static_cast<std::uint32_t>(schedule().ranks);
  if (!round_.traits().finishes_sums() || ranks == 1 || sum.contributions != ranks) return words;
  return round_.finish(locations_.piece_of(slot, unit), locations_.space(slot, unit, sum.form),
                       words);
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

std::size_t CodecWork::merge_apart(const Piece& piece, Payload result) {
  const bool in_place = std::ranges::any_of(
      sources_, [&](ConstPayload source) { return source.data() == result.data(); });
  // A sum may be longer than what it replaces.
  const Payload sum = in_place ? Payload{apart_sum_.data(), apart_sum_.size()} : result;
  const std::size_t words = round_.merge(piece, sources_, sum);
  if (in_place) memory_.copy(result.data(), sum.data(), words * 8);
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
  round_.decode(locations_.piece_of(source, task.unit), locations_.words(source, task.unit),
                schedule().slots[source].contributions);
  end_phase(profile_, Phase::decode);
}

}  // namespace cohom
