#include "executor/round_factory.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <string>

namespace cohom {

namespace {

/// More messages than so many, from and to one owner, cost more than exact sums on their way.
constexpr int most_direct_ranks = 64;
/// Elements a rank. Above, the bytes of exact sums cost more than the messages.
constexpr std::size_t most_elements_a_rank = 256;
/// What is short is shared by as many owners as it can be.
constexpr std::size_t short_block = 16;

}  // namespace

Chunking RoundFactory::make_chunking(std::size_t number, std::size_t elements) const {
  const std::size_t chunks =
      algorithm_of(number, elements).chunks(setup_.place.ranks, gathers_disjoint(number));
  std::size_t block = setup_.codec->block();
  if (traits(number).algorithm == RoundAlgorithm::by_size && is_many_short(elements))
    block = std::min(block, short_block);
  return {elements, block, chunks, setup_.segment};
}

/// Whether few elements are on many ranks. Alike on all of them.
bool RoundFactory::is_many_short(std::size_t elements) const {
  return setup_.place.ranks > most_direct_ranks &&
         elements <= most_elements_a_rank * static_cast<std::size_t>(setup_.place.ranks);
}

const AlgorithmRow& RoundFactory::algorithm_of(std::size_t number, std::size_t elements) const {
  const RoundTraits& round = traits(number);
  const AlgorithmRow& chosen = *setup_.algorithm;
  const bool offloaded = chosen.needs_aggregator && offloads(round);
  if (round.time == RoundTime::payload) {
    if (chosen.needs_aggregator && !offloaded)
      throw Error(ErrorKind::unsupported, "algorithm " + std::string(chosen.name) +
                                              " cannot merge by " + to_string(round.merge) +
                                              "; take " + algorithms_of_ranks() +
                                              ", or another codec");
    return chosen;
  }
  if (round.algorithm == RoundAlgorithm::by_size && is_many_short(elements))
    return algorithm_that_goes_by_nodes();
  if (round.algorithm == RoundAlgorithm::by_size || round.algorithm == RoundAlgorithm::direct)
    return algorithm_that_merges_at_once();
  const bool large = round.algorithm == RoundAlgorithm::as_payload;
  if (offloaded || (large && !chosen.needs_aggregator)) return chosen;
  return algorithm_for_small_rounds();
}

/// A plan is fixed, but the aggregator of a network may be replaced between calls. So each call
/// checks whether it has the merges of all offloaded rounds; else the whole call goes another way.
/// Switches add no floats, and an aggregator adds them in another order than ranks do, so of rounds
/// that add floats only a payload counts on the network.
bool RoundFactory::offloads(const RoundTraits& round) const {
  // A fallback round exists only when there were outliers: no turn at the aggregator is kept for
  // it.
  if (round.is_fallback()) return false;
  if (round.time != RoundTime::payload && round.merge.kind == MergeKind::add_float) return false;
  if (!setup_.aggregator->may_fail()) return setup_.aggregator->supports(round.merge);
  return !round.merges_itself();
}

std::unique_ptr<RoundRun> RoundFactory::make(std::size_t number, const Chunking& chunking) const {
  const bool apart = lies_apart(number);
  return std::make_unique<RoundRun>(RoundSetup{
      .number = static_cast<int>(number),
      .round = &round(number),
      .schedule = algorithm_of(number, chunking.elements())
                      .build({.rank = setup_.place.rank,
                              .ranks = setup_.place.ranks,
                              .narrow = traits(number).narrow(),
                              .disjoint = traits(number).disjoint(),
                              .promotes_some = traits(number).promotes_some(),
                              .grows = traits(number).grows,
                              .nodes = setup_.place.nodes,
                              .switches = setup_.place.switches,
                              .collective = collective_of(number),
                              .root = setup_.root}),
      .chunking = &chunking,
      .kernels = apart ? setup_.memory_kernels : setup_.kernels,
      .memory = apart ? setup_.memory : &host_memory(),
      .type = setup_.type,
      .message_bytes = setup_.message_bytes,
      .tuning = setup_.tuning,
      .crew = &crew_,
      .workers = setup_.workers != nullptr ? setup_.workers->workers() : 0,
  });
}

}  // namespace cohom
