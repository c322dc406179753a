#include "executor/codec_work.hpp"

#include <algorithm>
#include <utility>

namespace cohom {

CodecWork::CodecWork(Round& round, const kernels::KernelTable& kernels, Memory& memory,
                     const RoundLayout& layout, PayloadLocations& locations, AgreedPieces& agreed,
                     std::size_t workers)
    : round_(round),
      kernels_(kernels),
      memory_(memory),
      layout_(layout),
      locations_(locations),
      agreed_(agreed),
      scratch_(workers),
      pieces_left_(layout.tasks()),
      encoded_words_(layout.tasks()) {
  std::size_t max_sources = 0;
  for (const Step& step : schedule().steps)
    max_sources = std::max<std::size_t>(max_sources, step.source_count);
  scratch_.for_each([&](Scratch& scratch) {
    scratch.merge_sources.reserve(max_sources);
    scratch.sources.reserve(max_sources);
    if (round.traits().grows) scratch.partial_sums.reserve(max_sources);
    if (round.traits().merges_itself())
      scratch.apart_sum = {memory, layout.longest_unit(Form::wide)};
  });
}

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
    case SliceKind::merge: slice.words = merge(slice.task); return;
    case SliceKind::join: slice.words = join(slice.task); return;
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

std::size_t CodecWork::merge(const Task& task) {
  const std::uint32_t slot = step_of(task).result;
  const MessageUnit& unit = layout_.unit(slot, task.unit);
  if (merges_by_piece(task)) {
    std::size_t words = unit.header;
    for (std::size_t i = 0; i < unit.pieces; ++i) words = merge_piece(task, i, words);
    return words;
  }
  const auto sources = read_sources(task, unit.first_piece, unit.pieces);
  const std::size_t words = merge_words(sources, space_behind(task, unit.header)) + unit.header;
  if (unit.divided) copy_extents(task);
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
std::span<const ConstPayload> CodecWork::read_sources(const Task& task, std::size_t first_piece,
                                                      std::size_t pieces) {
  auto& sources = scratch_.mine().sources;
  sources.clear();
  for (const std::uint32_t source : schedule().sources_of(step_of(task)))
    sources.push_back(locations_.words(source, task.unit, first_piece, pieces));
  return sources;
}

/// Merges the unit's piece number `index` to its place, behind `begin` words. Returns where it
/// ends.
std::size_t CodecWork::merge_piece(const Task& task, std::size_t index, std::size_t begin) {
  const std::uint32_t slot = step_of(task).result;
  const MessageUnit& unit = layout_.unit(slot, task.unit);
  const Piece& piece = locations_.piece(unit.first_piece + index);
  const Payload result = space_behind(task, begin);
  const auto sources = read_sources(task, piece.index, 1);
  std::size_t words = 0;
  if (promotes(task))
    words = round_.promote(piece, sources, schedule().slots[slot].room, result);
  else if (round_.traits().merges_itself())
    words = merge_apart(piece, sources, result);
  else if (widens(task))
    words = widen(task, piece, sources, result);
  else
    words = merge_words(sources, result);
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
std::size_t CodecWork::merge_words(std::span<const ConstPayload> sources, Payload result) {
  const std::size_t words = sources[0].size();
  auto& addresses = scratch_.mine().merge_sources;
  addresses.clear();
  for (const ConstPayload source : sources) {
    expect_length(source.size() * 8, words * 8);
    addresses.push_back(source.data());
  }
  kernels_.merge(round_.traits().merge, addresses.data(), addresses.size(), words * 8,
                 result.data());
  return words;
}

std::size_t CodecWork::widen(const Task& task, const Piece& piece,
                             std::span<const ConstPayload> words, Payload result) {
  const auto& slots = schedule().slots;
  const auto sources = schedule().sources_of(step_of(task));
  auto& partial_sums = scratch_.mine().partial_sums;
  partial_sums.clear();
  for (std::size_t s = 0; s < sources.size(); ++s)
    partial_sums.push_back({words[s], slots[sources[s]].room});
  return round_.widen(piece, partial_sums, slots[step_of(task).result].room, result);
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
}

std::size_t CodecWork::merge_apart(const Piece& piece, std::span<const ConstPayload> sources,
                                   Payload result) {
  const bool in_place = std::ranges::any_of(
      sources, [&](ConstPayload source) { return source.data() == result.data(); });
  // A sum may be longer than what it replaces.
  auto& apart = scratch_.mine().apart_sum;
  const Payload sum = in_place ? Payload{apart.data(), apart.size()} : result;
  const std::size_t words = round_.merge(piece, sources, sum);
  if (in_place) memory_.copy(result.data(), sum.data(), words * 8);
  return words;
}

std::size_t CodecWork::join(const Task& task) {
  const std::uint32_t slot = step_of(task).result;
  const MessageUnit& unit = layout_.unit(slot, task.unit);
  std::size_t words = unit.header;
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
  return words;
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
