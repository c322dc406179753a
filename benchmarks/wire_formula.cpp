#include "wire_formula.hpp"

#include "codecs/codec_table.hpp"
#include "plan/spec.hpp"
#include "plan/wire_bytes.hpp"
#include "schedule/algorithms/algorithm.hpp"

#include <algorithm>
#include <vector>

namespace cohom::bench {
namespace {

using PerRank = std::vector<std::uint64_t>;

/// What each rank sends.
PerRank sent_by(const AlgorithmRow& algorithm, const CodecBytes& codec, std::size_t elements,
                int ranks, std::span<const std::uint32_t> nodes = {},
                std::span<const std::uint32_t> switches = {},
                ReductionKind collective = ReductionKind::allreduce) {
  PerRank sent;
  for (int rank = 0; rank < ranks; ++rank)
    sent.push_back(
        bytes_sent(algorithm, codec, elements, rank, ranks, nodes, switches, collective));
  return sent;
}

}  // namespace

std::optional<WireBytes> wire_formula(const std::string& codec, const std::string& algorithm,
                                      std::size_t elements, ElementType type, int ranks,
                                      const std::optional<UnionShape>& shape, std::uint64_t step,
                                      std::span<const std::uint32_t> nodes,
                                      std::span<const std::uint32_t> switches,
                                      ReductionKind collective) {
  const Spec spec = parse_spec(codec);
  const CodecRow& row_of_codec = find_codec(spec.name);
  const AlgorithmRow* const asked = find_algorithm(algorithm);
  if (asked == nullptr || asked->needs_aggregator) return std::nullopt;
  // Words of a part are as many as its content makes them.
  if (collective == ReductionKind::allgather) return std::nullopt;
  const bool in_parts = row_of_codec.decodes_parts && asked->chunk_of_rank;
  const BytesQuery query{
      spec.parameters, asked->merges_at_once, elements, type, ranks, shape, step};
  const auto found = row_of_codec.bytes != nullptr ? row_of_codec.bytes(query)
                                                   : bytes_of_rounds(row_of_codec.make, query);
  if (!found) return std::nullopt;
  const AlgorithmRow& row = found->at_once ? algorithm_that_merges_at_once() : *asked;
  const PerRank sent = sent_by(row, *found, elements, ranks, nodes, switches,
                               in_parts ? collective : ReductionKind::allreduce);

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
