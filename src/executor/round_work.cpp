// RoundRun: its slices of codec work.

#include "executor/round_run.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <utility>

namespace cohom {

bool RoundRun::may_encode(const Task& task) const {
  // A contribution that lies in the user's output (fabric) is a write to it.
  if (!open_ && in_output(step_of(task).result, task.unit)) return false;
  return agreed_before(layout_.unit(step_of(task).result, task.unit), NeededBy::encoding);
}

/// Whether earlier rounds agree on the unit's pieces: those that encoding waits for, or those that only
/// the payload's decoding does.
bool RoundRun::agreed_before(const Unit& unit, NeededBy needed_by) const {
  for (const auto& round : call_.earlier) {
    // Only the payload is encoded without what its decoding needs.
    const NeededBy waits =
        traits().time == RoundTime::payload ? round->needed_by() : NeededBy::encoding;
    if (waits != needed_by) continue;
    for (std::size_t p = unit.first_piece; p < unit.first_piece + unit.pieces; ++p)
      if (!round->agreed(p)) return false;
  }
  return true;
}

bool RoundRun::may_decode(const Task& task) const {
  const std::uint32_t source = schedule().sources_of(step_of(task))[0];
  return agreed_before(layout_.unit(source, task.unit), NeededBy::decoding) &&
         !input_being_sent(task);
}

bool RoundRun::encode_next(EncodeQueue& queue) {
  if (continue_partial()) return true;
  while (queue.next < queue.tasks->size()) {
    const Task& task = (*queue.tasks)[queue.next];
    if (encoded_[layout_.task_index(task)]) {
      ++queue.next;
      continue;
    }
    if (!may_encode(task)) return false;
    if (encode(task)) ++queue.next;
    return true;
  }
  return false;
}

/// A unit once begun is finished before any other: its words are half written.
bool RoundRun::continue_partial() {
  if (partial_pieces_ == 0) return false;
  const Task begun = partial_;
  encode(begun);
  return true;
}

bool RoundRun::encode_for_merge() {
  if (continue_partial()) return true;
  while (!demanded_.empty()) {
    const Task task = demanded_.front();
    if (!encoded_[layout_.task_index(task)]) {
      if (!may_encode(task)) break;
      if (encode(task)) demanded_.pop();
      return true;
    }
    demanded_.pop();
  }
  return encode_next(merge_encodes_);
}

/// Encodes the next piece of the task's unit; true when the unit is complete.
bool RoundRun::encode(const Task& task) {
  const std::uint32_t slot = step_of(task).result;
  const Unit& unit = layout_.unit(slot, task.unit);
  const Form form = call_.widening ? Form::narrow : schedule().slots[slot].form;
  const std::size_t capacity = unit.capacity[std::size_t(form)];
  // Where the words already lie in the user's input there is nothing to do. (One rank, not in place:
  // its contribution is the sum, and lies in the output.)
  const bool in_place = traits().identity != Identity::none && call_.input != nullptr &&
                        unit.aliasable &&
                        address(slot, task.unit) ==
                            call_.input + piece(unit.first_piece).first * size_of(setup_.type);
  std::size_t written = capacity;
  if (!in_place) {
    if (partial_pieces_ == 0) partial_ = task;
    Words out{reinterpret_cast<std::uint64_t*>(address(slot, task.unit)), capacity};
    if (traits().scope != RoundScope::vector) out = out.subspan(partial_words_);
    const Piece& next = piece(unit.first_piece + partial_pieces_);
    lap(call_.profile, Phase::other);
    const std::size_t words = setup_.round->encode(contributions_of(form), next, out);
    lap(call_.profile, agrees_ ? Phase::agree : Phase::encode);
    if (agrees_) extents_[next.index] = {partial_words_, words};
    partial_words_ = traits().scope == RoundScope::vector ? words : partial_words_ + words;
    if (++partial_pieces_ < unit.pieces) return false;
    written = std::exchange(partial_words_, 0);
    partial_pieces_ = 0;
  }
  encoded_[layout_.task_index(task)] = true;
  --pending_;
  slot_ready(slot, task.unit, written);
  return true;
}

bool RoundRun::merge_one() {
  if (merges_.empty()) return false;
  merge(merges_.pop());
  return true;
}

void RoundRun::merge(const Task& task) {
  const Step& step = step_of(task);
  const auto sources = schedule().sources_of(step);
  const Slot& slot = schedule().slots[step.result];
  const Unit& unit = layout_.unit(step.result, task.unit);
  const Words result{reinterpret_cast<std::uint64_t*>(address(step.result, task.unit)),
                     unit.capacity[std::size_t(slot.form)]};
  source_words_.clear();
  for (std::uint32_t source : sources) source_words_.push_back(words(source, task.unit));
  std::size_t written = 0;
  lap(call_.profile, Phase::other);
  if (schedule().slots[sources[0]].form == Form::narrow)
    written = setup_.round->promote(piece_of(step.result, task.unit), source_words_, result);
  else if (traits().merges_itself())
    written = merge_apart(piece_of(step.result, task.unit), result);
  else
    written = merge_words(result);
  const std::size_t finished = finish_sum(step.result, task.unit, written);
  lap(call_.profile, Phase::merge);
  --pending_;
  slot_ready(step.result, task.unit, finished);
}

/// Lets the codec change a sum that is complete; returns the words left.
std::size_t RoundRun::finish_sum(std::uint32_t slot, std::uint32_t unit, std::size_t words) {
  const Slot& sum = schedule().slots[slot];
  const auto ranks = static_cast<std::uint32_t>(schedule().ranks);
  if (traits().sums != CompleteSums::finished || ranks == 1 || sum.contributions != ranks)
    return words;
  const Words room{reinterpret_cast<std::uint64_t*>(address(slot, unit)),
                   layout_.unit(slot, unit).capacity[std::size_t(sum.form)]};
  return setup_.round->finish(piece_of(slot, unit), room, words);
}

/// Words that are merged one by one: all sources have the same length.
std::size_t RoundRun::merge_words(Words result) {
  const std::size_t words = source_words_[0].size();
  merge_sources_.clear();
  for (const ConstWords source : source_words_) {
    expect_length(source.size() * 8, words * 8);
    merge_sources_.push_back(source.data());
  }
  setup_.kernels->merge(traits().merge, merge_sources_.data(), merge_sources_.size(), words * 8,
                        result.data());
  return words;
}

std::size_t RoundRun::merge_apart(const Piece& piece, Words result) {
  const bool in_place = std::ranges::any_of(
      source_words_, [&](ConstWords source) { return source.data() == result.data(); });
  // A sum may be longer than what it replaces.
  const Words sum = in_place ? Words{apart_sum_.data(), apart_sum_.size()} : result;
  const std::size_t words = setup_.round->merge(piece, source_words_, sum);
  if (in_place) setup_.memory->copy(result.data(), sum.data(), words * 8);
  return words;
}

bool RoundRun::decode_one() {
  for (std::size_t tries = decodes_.size(); tries > 0; --tries) {
    const Task task = decodes_.pop();
    if (may_decode(task)) {
      decode(task);
      return true;
    }
    decodes_.push(task);
  }
  return false;
}

/// In place, what decoding overwrites may still have to leave straight from the user's memory: in
/// recursive doubling the sum can be here before the own contribution was even posted, and anywhere
/// before the transport has given the memory back.
bool RoundRun::input_being_sent(const Task& task) const {
  if (!call_.in_place || call_.input == nullptr) return false;
  const std::uint32_t mine = layout_.contribution(schedule().chunk_of(step_of(task)));
  if (mine == Step::no_slot) return false;
  const auto& readers = layout_.consumers(mine);
  return std::any_of(readers.begin(), readers.end(), [&](std::uint32_t reader) {
    return schedule().steps[reader].kind == StepKind::send &&
           messages_left_[layout_.task_index({reader, task.unit})] != 0;
  });
}

void RoundRun::decode(const Task& task) {
  const std::uint32_t source = schedule().sources_of(step_of(task))[0];
  const Unit& unit = layout_.unit(source, task.unit);
  // A merge of ours made the NaNs canonical. A lone contribution was never merged, and an
  // aggregator's NaNs are its own and differ from rank to rank: these are decoded in place.
  const bool done = call_.output != nullptr && unit.aliasable && !layout_.is_contribution(source) &&
                    !layout_.offloads() && layout_.buffer_decoded(schedule().slots[source].buffer);
  if (!done) {
    lap(call_.profile, Phase::other);
    setup_.round->decode(piece_of(source, task.unit), words(source, task.unit),
                         schedule().slots[source].contributions);
    lap(call_.profile, Phase::decode);
  }
  --pending_;
}

void RoundRun::publish(const Task& task) {
  const std::uint32_t slot = schedule().sources_of(step_of(task))[0];
  const Unit& unit = layout_.unit(slot, task.unit);
  if (traits().scope != RoundScope::vector) {
    // This rank's words are part of the sum, and as many.
    const Extent& last = extents_[unit.first_piece + unit.pieces - 1];
    expect_length(words(slot, task.unit).size() * 8, (last.begin + last.words) * 8);
  }
  agreed_slot_[schedule().slots[slot].chunk] = slot;
  for (std::size_t p = unit.first_piece; p < unit.first_piece + unit.pieces; ++p) agreed_[p] = true;
  agreed_pieces_ += unit.pieces;
  --pending_;
}

}  // namespace cohom
