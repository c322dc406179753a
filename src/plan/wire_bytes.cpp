#include "plan/wire_bytes.hpp"

#include "executor/chunking.hpp"

#include <limits>
#include <vector>

namespace cohom {
namespace {

/// Elements of each chunk of a vector.
std::vector<std::size_t> chunk_elements(std::size_t elements, std::size_t block,
                                        std::size_t chunks) {
  const Chunking cut(elements, block, chunks, std::numeric_limits<std::size_t>::max() / 2);
  std::vector<std::size_t> counts(chunks);
  for (std::size_t chunk = 0; chunk < chunks; ++chunk)
    for (const std::size_t piece : cut.pieces_of_chunk(chunk))
      counts[chunk] += cut.pieces()[piece].count;
  return counts;
}

/// The next number of whole blocks.
std::size_t padded(std::size_t elements, std::size_t block) {
  return (elements + block - 1) / block * block;
}

/// Of a slot's payload.
std::uint64_t bytes_of(const CodecBytes& codec, const Slot& slot, int ranks, std::size_t elements) {
  if (slot.form == Form::narrow) return codec.contribution(elements);
  return slot.contributions == static_cast<std::uint32_t>(ranks)
             ? codec.result(elements)
             : codec.partial_sum(slot.room, elements);
}

}  // namespace

std::uint64_t bytes_sent(const AlgorithmRow& algorithm, const CodecBytes& codec,
                         std::size_t elements, int rank, int ranks,
                         std::span<const std::uint32_t> nodes,
                         std::span<const std::uint32_t> switches, ReductionKind collective) {
  const bool gathers_disjoint = codec.disjoint && collective == ReductionKind::allreduce;
  // Each part of a reduce_scatter is of whole blocks.
  if (const auto parts = static_cast<std::size_t>(ranks);
      collective == ReductionKind::reduce_scatter)
    elements = padded((elements + parts - 1) / parts, codec.block) * parts;
  const auto chunks =
      chunk_elements(elements, codec.block, algorithm.chunks(ranks, gathers_disjoint));
  const Schedule schedule = algorithm.build({.rank = rank,
                                             .ranks = ranks,
                                             .narrow = codec.narrow,
                                             .disjoint = codec.disjoint,
                                             .promotes_some = codec.promotes_some,
                                             .grows = static_cast<bool>(codec.growing),
                                             .nodes = nodes,
                                             .switches = switches,
                                             .collective = collective});
  std::uint64_t bytes = 0;
  for (const Step& step : schedule.steps) {
    if (step.kind != StepKind::send) continue;
    const Slot& slot = schedule.slots[schedule.sources_of(step)[0]];
    for (std::size_t chunk = slot.chunks.first; chunk < slot.chunks.end(); ++chunk)
      bytes += bytes_of(codec, slot, ranks, chunks[chunk]);
  }
  return bytes;
}

}  // namespace cohom
