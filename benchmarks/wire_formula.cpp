#include "wire_formula.hpp"

#include "codecs/codec_table.hpp"
#include "executor/chunking.hpp"
#include "plan/spec.hpp"
#include "schedule/algorithms/algorithm.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace cohom::bench {
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

/// Of a slot's payload.
std::uint64_t bytes_of(const CodecBytes& codec, const Slot& slot, int ranks, std::size_t elements) {
  if (slot.form == Form::narrow) return codec.contribution(elements);
  return slot.contributions == static_cast<std::uint32_t>(ranks)
             ? codec.result(elements)
             : codec.partial_sum(slot.room, elements);
}

using PerRank = std::vector<std::uint64_t>;

/// What each rank sends, counted over its schedule.
PerRank sent_by(const AlgorithmRow& algorithm, const CodecBytes& codec, std::size_t elements,
                int ranks, std::span<const std::uint32_t> nodes = {},
                std::span<const std::uint32_t> switches = {}) {
  const auto chunks =
      chunk_elements(elements, codec.block, algorithm.chunks(ranks, codec.disjoint));
  PerRank sent;
  for (int rank = 0; rank < ranks; ++rank) {
    const Schedule schedule = algorithm.build({.rank = rank,
                                               .ranks = ranks,
                                               .narrow = codec.narrow,
                                               .disjoint = codec.disjoint,
                                               .promotes_some = codec.promotes_some,
                                               .grows = static_cast<bool>(codec.growing),
                                               .nodes = nodes,
                                               .switches = switches});
    std::uint64_t bytes = 0;
    for (const Step& step : schedule.steps) {
      if (step.kind != StepKind::send) continue;
      const Slot& slot = schedule.slots[schedule.sources_of(step)[0]];
      for (std::size_t chunk = slot.chunks.first; chunk < slot.chunks.end(); ++chunk)
        bytes += bytes_of(codec, slot, ranks, chunks[chunk]);
    }
    sent.push_back(bytes);
  }
  return sent;
}

}  // namespace

std::optional<WireBytes> wire_formula(const std::string& codec, const std::string& algorithm,
                                      std::size_t elements, ElementType type, int ranks,
                                      const std::optional<UnionShape>& shape, std::uint64_t step,
                                      std::span<const std::uint32_t> nodes,
                                      std::span<const std::uint32_t> switches) {
  const Spec spec = parse_spec(codec);
  const CodecRow& row_of_codec = find_codec(spec.name);
  const AlgorithmRow* const asked = find_algorithm(algorithm);
  if (asked == nullptr || asked->needs_aggregator) return std::nullopt;
  const BytesQuery query{
      spec.parameters, asked->merges_at_once, elements, type, ranks, shape, step};
  const auto found = row_of_codec.bytes != nullptr ? row_of_codec.bytes(query)
                                                   : bytes_of_rounds(row_of_codec.make, query);
  if (!found) return std::nullopt;
  const AlgorithmRow& row = found->at_once ? algorithm_that_merges_at_once() : *asked;
  const PerRank sent = sent_by(row, *found, elements, ranks, nodes, switches);

  const auto words = [&](std::size_t) { return found->agreement; };
  const PerRank agreement =
      sent_by(algorithm_for_small_rounds(), {.contribution = words, .sum = words}, elements, ranks);
  WireBytes total;
  for (std::size_t rank = 0; rank < sent.size(); ++rank) {
    const std::uint64_t here = sent[rank] + agreement[rank];
    total.busiest_rank = std::max(total.busiest_rank, here);
    total.all_ranks += here;
  }
  return total;
}

}  // namespace cohom::bench
