#include "executor/merge_work.hpp"

#include <algorithm>

namespace cohom {

MergeWork::MergeWork(Round& round, const kernels::KernelTable& kernels, Memory& memory,
                     const RoundLayout& layout, PayloadLocations& locations, std::size_t workers)
    : round_(round),
      kernels_(kernels),
      memory_(memory),
      layout_(layout),
      locations_(locations),
      scratch_(workers) {
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

std::size_t MergeWork::merge(const Task& task) {
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
bool MergeWork::merges_by_piece(const Task& task) const {
  const std::uint32_t slot = step_of(task).result;
  const RoundTraits& traits = round_.traits();
  if (layout_.unit(slot, task.unit).pieces == 1) return true;
  return layout_.unit(slot, task.unit).divided &&
         (promotes(task) || traits.merges_itself() || widens(task) ||
          (traits.finishes_sums() && layout_.is_complete(slot)));
}

bool MergeWork::promotes(const Task& task) const {
  return schedule().slots[schedule().sources_of(step_of(task))[0]].form == Form::narrow;
}

/// Whether the result has room for more contributions than a source.
bool MergeWork::widens(const Task& task) const {
  if (!round_.traits().grows) return false;
  const auto& slots = schedule().slots;
  return std::ranges::any_of(schedule().sources_of(step_of(task)), [&](std::uint32_t source) {
    return slots[source].room != slots[step_of(task).result].room;
  });
}

Payload MergeWork::space_behind(const Task& task, std::size_t words) const {
  const std::uint32_t slot = step_of(task).result;
  return locations_.space(slot, task.unit, schedule().slots[slot].form).subspan(words);
}

/// The sources' words of pieces that lie side by side.
std::span<const ConstPayload> MergeWork::read_sources(const Task& task, std::size_t first_piece,
                                                      std::size_t pieces) {
  auto& sources = scratch_.mine().sources;
  sources.clear();
  for (const std::uint32_t source : schedule().sources_of(step_of(task)))
    sources.push_back(locations_.words(source, task.unit, first_piece, pieces));
  return sources;
}

/// Merges the unit's piece number `index` to its place, behind `begin` words. Returns where it
/// ends.
std::size_t MergeWork::merge_piece(const Task& task, std::size_t index, std::size_t begin) {
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

std::size_t MergeWork::finish_sum(std::uint32_t slot, std::uint32_t unit, std::size_t words) {
  return finish(slot, locations_.piece_of(slot, unit),
                locations_.space(slot, unit, schedule().slots[slot].form), words);
}

std::size_t MergeWork::finish(std::uint32_t slot, const Piece& piece, Payload sum,
                              std::size_t words) {
  if (!round_.traits().finishes_sums() || !layout_.is_complete(slot)) return words;
  return round_.finish(piece, sum, words);
}

/// Words that are merged one by one: all sources have the same length.
std::size_t MergeWork::merge_words(std::span<const ConstPayload> sources, Payload result) {
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

std::size_t MergeWork::widen(const Task& task, const Piece& piece,
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
void MergeWork::copy_extents(const Task& task) {
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

std::size_t MergeWork::merge_apart(const Piece& piece, std::span<const ConstPayload> sources,
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

std::size_t MergeWork::join(const Task& task) {
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

}  // namespace cohom
