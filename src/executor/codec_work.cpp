#include "executor/codec_work.hpp"

#include <algorithm>
#include <utility>

namespace cohom {

CodecWork::CodecWork(Round& round, const kernels::KernelTable& kernels, Memory& memory,
                     const RoundLayout& layout, PayloadLocations& locations, AgreedPieces& agreed,
                     std::size_t workers)
    : round_(round),
      layout_(layout),
      locations_(locations),
      agreed_(agreed),
      merges_(round, kernels, memory, layout, locations, workers),
      pieces_left_(layout.tasks()),
      encoded_words_(layout.tasks()) {}

void CodecWork::begin(bool in_workers) {
  in_workers_ = in_workers;
  partial_pieces_ = partial_words_ = 0;
}

/// The last piece of a vector ends what the others began.
bool CodecWork::may_continue() const {
  const MessageUnit& unit = layout_.unit(step_of(partial_).result, partial_.unit);
  return !is_whole() || partial_pieces_ + 1 < unit.pieces ||
         pieces_left_[layout_.task_index(partial_)] == 1;
}

Slice CodecWork::next_encode(const Task& task, Form form) {
  const MessageUnit& unit = layout_.unit(step_of(task).result, task.unit);
  if (partial_pieces_ == 0) {
    partial_ = task;
    partial_words_ = unit.header;
    pieces_left_[layout_.task_index(task)] = static_cast<std::uint32_t>(unit.pieces);
  }
  const bool all = in_workers_ && round_.traits().varies() && !is_whole();
  Slice slice{.kind = SliceKind::encode,
              .task = task,
              .form = form,
              .first_piece = partial_pieces_,
              .pieces = all ? unit.pieces : 1,
              .words = partial_words_};
  // Of varying lengths the next begins where this one will have ended: see take_encoded().
  if (in_workers_ && !all && !is_whole())
    partial_words_ += round_.capacity(contributions_of(form),
                                      locations_.piece(unit.first_piece + slice.first_piece).count);
  partial_pieces_ += slice.pieces;
  if (partial_pieces_ == unit.pieces) partial_pieces_ = 0;
  return slice;
}

Slice CodecWork::slice_of(const Task& task) const {
  switch (step_of(task).kind) {
    case StepKind::merge: return {.kind = SliceKind::merge, .task = task};
    case StepKind::join: return {.kind = SliceKind::join, .task = task};
    default: return {.kind = SliceKind::decode, .task = task};
  }
}

std::size_t CodecWork::bytes_of(const Slice& slice) const {
  const Step& step = step_of(slice.task);
  const MessageUnit& unit = layout_.unit(schedule().slot_of(step), slice.task.unit);
  switch (slice.kind) {
    case SliceKind::encode:
      return is_encoded_already(slice.task)
                 ? 0
                 : locations_.element_bytes(unit.first_piece + slice.first_piece, slice.pieces);
    case SliceKind::decode:
      return is_decoded_already(slice.task)
                 ? 0
                 : locations_.element_bytes(unit.first_piece, unit.pieces);
    default: break;
  }
  std::size_t bytes = 0;
  for (const std::uint32_t source : schedule().sources_of(step))
    if (slice.task.unit < layout_.units_of(source).size())
      bytes += locations_.words(source, slice.task.unit).size_bytes();
  return bytes;
}

void CodecWork::run(Slice& slice) {
  switch (slice.kind) {
    case SliceKind::encode: return encode(slice);
    case SliceKind::merge: slice.words = merges_.merge(slice.task); return;
    case SliceKind::join: slice.words = merges_.join(slice.task); return;
    case SliceKind::decode: return decode(slice.task);
  }
}

/// Where the words already lie in the user's input there is nothing to do. (One rank, not in place:
/// its contribution is the sum, and lies in the output.)
bool CodecWork::is_encoded_already(const Task& task) const {
  return round_.traits().identity != Identity::none &&
         locations_.in_input(step_of(task).result, task.unit);
}

/// A merge of ours made the NaNs canonical. A lone contribution was never merged, and an
/// aggregator's NaNs are its own and differ from rank to rank: these are decoded in place.
bool CodecWork::is_decoded_already(const Task& task) const {
  const std::uint32_t source = schedule().sources_of(step_of(task))[0];
  return locations_.in_output(source, task.unit) && !layout_.is_contribution(source) &&
         !layout_.links().offloads();
}

void CodecWork::encode(Slice& slice) {
  const std::uint32_t slot = step_of(slice.task).result;
  const MessageUnit& unit = layout_.unit(slot, slice.task.unit);
  const Payload capacity = locations_.space(slot, slice.task.unit, slice.form);
  if (is_encoded_already(slice.task)) {
    slice.words = capacity.size();
    return;
  }
  const std::size_t first = unit.first_piece + slice.first_piece;
  for (std::size_t p = first; p < first + slice.pieces; ++p) {
    const Piece& piece = locations_.piece(p);
    const std::size_t begin = slice.words;
    const std::size_t words = round_.encode(contributions_of(slice.form), piece,
                                            is_whole() ? capacity : capacity.subspan(begin));
    agreed_.set_own(piece, begin, words);
    slice.words = is_whole() ? words : begin + words;
    if (unit.divided) locations_.set_piece_end(slot, slice.task.unit, piece.index, slice.words);
  }
}

std::optional<std::size_t> CodecWork::take_encoded(const Slice& slice) {
  const std::size_t index = layout_.task_index(slice.task);
  const MessageUnit& unit = layout_.unit(step_of(slice.task).result, slice.task.unit);
  if (slice.first_piece + slice.pieces == unit.pieces)
    encoded_words_[index] = static_cast<std::uint32_t>(slice.words);
  if (!in_workers_ || is_whole()) partial_words_ = slice.words;
  pieces_left_[index] -= static_cast<std::uint32_t>(slice.pieces);
  if (pieces_left_[index] != 0) return std::nullopt;
  return encoded_words_[index];
}

void CodecWork::decode(const Task& task) {
  if (is_decoded_already(task)) return;
  const std::uint32_t source = schedule().sources_of(step_of(task))[0];
  const MessageUnit& unit = layout_.unit(source, task.unit);
  for (std::size_t p = unit.first_piece; p < unit.first_piece + unit.pieces; ++p)
    round_.decode(locations_.piece(p), locations_.words(source, task.unit, p),
                  schedule().slots[source].contributions);
}

}  // namespace cohom
