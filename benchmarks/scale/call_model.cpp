#include "scale/call_model.hpp"

#include "agreement/agreement_words.hpp"
#include "agreement/call_board.hpp"
#include "agreement/short_sum.hpp"
#include "codecs/codec_table.hpp"
#include "plan/selector.hpp"
#include "plan/spec.hpp"
#include "scale/codec_model.hpp"
#include "schedule/algorithms/algorithm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace cohom::bench {
namespace {

/// Longer than any vector, and still to be added to.
constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max() / 2;

/// As plans do it on hosts: a quarter of a chunk, if messages are not too short or too long then.
std::size_t segment_of(const AlgorithmRow& algorithm, const CodecModel& codec,
                       std::size_t chunk_elements) {
  const std::size_t chunks = chunks_a_message(algorithm, codec.input);
  const std::size_t shortest = chunks == 1 ? 8192 : codec.shortest_message / chunks;
  return std::clamp(chunk_elements / 4, std::min(shortest, codec.longest_segment),
                    codec.longest_segment);
}

/// How a vector is cut for an algorithm.
struct Cut {
  std::size_t elements = 0;
  std::size_t chunks = 1;
  std::size_t segment = unlimited;  ///< elements
};

CallPart payload_part(const AlgorithmRow& algorithm, const CodecModel& codec, const Cut& cut,
                      const CodecTimes& times, int follows) {
  const auto sizes = std::make_shared<PayloadSizes>(
      codec.bytes, Chunking(cut.elements, codec.block, cut.chunks, cut.segment));
  return {.program =
              [&algorithm, input = codec.input, sizes, times](int rank) {
                AlgorithmInput own = input;
                own.rank = rank;
                return RankProgram(algorithm.build(own), *sizes, times);
              },
          .follows = follows};
}

/// Of the payload's pieces, which each have words of their own, or of the vector.
SlotBytes bytes_of(const SmallRound& round, std::size_t piece) {
  return [round, piece](const Slot&, std::size_t count) {
    if (count == 0) return std::uint64_t{0};
    if (!round.in_units) return round.bytes(count);
    return (count + piece - 1) / piece * round.bytes(std::min(count, piece));
  };
}

/// In as many units as the payload, whatever lies in them, or in one.
CallPart small_part(const SmallRound& round, const CodecModel& codec, const Cut& cut,
                    const CodecTimes& times, int follows) {
  const Chunking payload(cut.elements, codec.block, cut.chunks, cut.segment);
  const std::size_t piece = payload.longest_piece();
  const std::size_t segment = round.in_units ? piece * cut.chunks : unlimited;
  const auto sizes =
      std::make_shared<PayloadSizes>(bytes_of(round, piece), Chunking(cut.elements, 1, 1, segment));
  return {.program =
              [sizes, input = codec.input, times](int rank) {
                const AlgorithmInput own{.rank = rank, .ranks = input.ranks, .nodes = input.nodes};
                return RankProgram(algorithm_for_small_rounds().build(own), *sizes, times);
              },
          .follows = follows};
}

/// By recursive doubling, as MaximumExchange, of a vector's bytes behind the words (ShortSum).
CallPart agreement_part(int ranks, int follows, std::size_t vector_bytes = 0) {
  const std::uint64_t bytes = sizeof(AgreementWords::Table) + vector_bytes;
  const auto sizes = std::make_shared<PayloadSizes>(
      [bytes](const Slot&, std::size_t) { return bytes; }, Chunking(1, 1, 1, unlimited));
  return {.program =
              [sizes, ranks](int rank) {
                const AlgorithmInput own{.rank = rank, .ranks = ranks};
                return RankProgram(find_algorithm("recursive_doubling")->build(own), *sizes, {});
              },
          .follows = follows,
          .comes_first = true};
}

/// By rank; none where each has a node of its own.
std::vector<std::uint32_t> nodes_of(const NetworkShape& network, int ranks) {
  std::vector<std::uint32_t> nodes;
  for (int rank = 0; network.ranks_a_node > 1 && rank < ranks; ++rank)
    nodes.push_back(static_cast<std::uint32_t>(network.node_of(rank)));
  return nodes;
}

/// By rank; none where the ranks do not know them.
std::vector<std::uint32_t> switches_of(const NetworkShape& network, int ranks) {
  std::vector<std::uint32_t> switches;
  for (int rank = 0; network.switches_known && rank < ranks; ++rank)
    switches.push_back(static_cast<std::uint32_t>(network.leaf_of(rank)));
  return switches;
}

const AlgorithmRow& expect_among_ranks(const AlgorithmRow& row) {
  if (row.needs_aggregator)
    throw std::runtime_error(
        fmt::format("algorithm {} has an aggregator, and is not simulated; "
                    "take {}",
                    row.name, algorithms_of_ranks()));
  return row;
}

}  // namespace

Selection select(const NetworkShape& network, const CallShape& shape) {
  const Spec spec = parse_spec(shape.codec);
  const auto nodes = std::uint32_t(network.nodes(shape.ranks));
  const bool has_board = nodes == 1 && shape.ranks <= CallBoard::max_ranks;
  return select_algorithm(shape.algorithm,
                          {.codec = spec.name,
                           .bytes = shape.elements * sizeof(float),
                           .ranks = shape.ranks,
                           .nodes = nodes,
                           .on_board = has_board && find_codec(spec.name).may_be_bypassed(
                                                        spec.parameters, shape.ranks)});
}

CallModel model_call(const NetworkShape& network, const CallShape& shape) {
  Spec spec = parse_spec(shape.codec);
  const Selection selection = select(network, shape);
  if (selection.bypass) spec = {"raw", {}};
  const AlgorithmRow& asked = expect_among_ranks(*selection.algorithm);
  CodecModel codec =
      model_codec(spec.name, spec.parameters, {shape.elements, shape.ranks}, asked.merges_at_once);
  const auto nodes = std::make_shared<std::vector<std::uint32_t>>(nodes_of(network, shape.ranks));
  const auto switches =
      std::make_shared<std::vector<std::uint32_t>>(switches_of(network, shape.ranks));
  codec.input.nodes = *nodes;
  codec.input.switches = *switches;
  const AlgorithmRow& algorithm = codec.at_once ? algorithm_that_merges_at_once() : asked;
  const CodecTimes times = shape.times != nullptr ? shape.times->of(spec.name) : CodecTimes{};

  const std::size_t chunks = algorithm.chunks(shape.ranks, codec.input.disjoint);
  const Cut cut{
      shape.elements, chunks,
      shape.segment != 0 ? shape.segment : segment_of(algorithm, codec, shape.elements / chunks)};

  CallModel model{.algorithm = std::string(algorithm.name), .nodes = nodes, .switches = switches};
  const auto last = [&] { return static_cast<int>(model.parts.size()) - 1; };
  const std::size_t bytes = shape.elements * sizeof(float);
  if (spec.name == "raw" && algorithm.name == "recursive_doubling" &&
      bytes <= ShortSum::longest(shape.ranks, network.nodes(shape.ranks) == 1, false)) {
    model.parts.push_back(agreement_part(shape.ranks, CallPart::begin_of_call, bytes));
    return model;
  }
  model.parts.push_back(agreement_part(shape.ranks, CallPart::begin_of_call));
  CodecTimes reading{.encode = times.agree};
  for (const SmallRound& round : codec.small_rounds)
    model.parts.push_back(small_part(round, codec, cut, std::exchange(reading, {}), last()));
  const int agreed = last();
  const bool by_unit = !codec.small_rounds.empty() && codec.small_rounds.back().in_units;
  model.parts.push_back(payload_part(algorithm, codec, cut, times, agreed));
  model.parts.back().by_unit = by_unit;
  model.parts.back().room = codec.room;
  if (codec.may_fall_back) model.parts.push_back(agreement_part(shape.ranks, agreed));
  return model;
}

CallModel model_native(const CallShape& shape, const std::string& algorithm) {
  const AlgorithmRow& row = *select_algorithm(algorithm, {.codec = "raw"}).algorithm;
  const CodecTimes times = shape.times != nullptr ? shape.times->of("raw") : CodecTimes{};
  CallPart part =
      payload_part(row, plain_floats(shape.ranks), {shape.elements, row.chunks(shape.ranks, false)},
                   times, CallPart::begin_of_call);
  part.message_bytes = unlimited;
  return {.algorithm = algorithm, .parts = {std::move(part)}};
}

std::uint64_t messages_of(const CallModel& model, int ranks) {
  std::uint64_t sends = 0;
  for (const CallPart& part : model.parts) {
    const RankProgram program = part.program(0);
    for (std::uint32_t task = 0; task < program.tasks(); ++task)
      if (program.kind(task) == StepKind::send) ++sends;
  }
  return sends * static_cast<std::uint64_t>(ranks);
}

NativeCall best_native(const NetworkShape& network, const CallShape& shape) {
  NativeCall best;
  for (const std::string algorithm : {"recursive_halving", "recursive_doubling", "ring"}) {
    const Nanoseconds hops = 2 * (shape.ranks - 1) * network.shortest_hop();
    if (algorithm == "ring" && hops > best.call.time) continue;
    const SimulatedCall call =
        run_schedules(network, shape.ranks, model_native(shape, algorithm).parts);
    if (best.algorithm.empty() || call.time < best.call.time) best = {algorithm, call};
  }
  return best;
}

}  // namespace cohom::bench
