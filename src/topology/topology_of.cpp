#include "topology/topology_of.hpp"

#include "agreement/call_differences.hpp"
#include "base/log.hpp"
#include "base/text.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace cohom {

namespace {

/// Groups of the ranks that have the same key; those without one are in none.
template <class Key>
RankGroups group_by(std::span<const std::optional<Key>> by_rank) {
  RankGroups groups;
  std::map<Key, std::uint32_t> numbers;
  for (const auto& key : by_rank) {
    if (!key) {
      groups.of_rank.push_back(RankGroups::none);
      continue;
    }
    const auto [entry, is_new] = numbers.try_emplace(*key, groups.count);
    if (is_new) ++groups.count;
    groups.of_rank.push_back(entry->second);
  }
  return groups;
}

/// What COHOM_TOPOLOGY says, once it is known to be one text.
std::optional<GivenTopology> agreed_given(std::span<const RankPlace> by_rank) {
  std::vector<std::string> texts;
  for (const RankPlace& place : by_rank)
    texts.push_back(place.given.empty() ? "not set" : printable(place.given));
  expect_same("COHOM_TOPOLOGY", texts);
  if (by_rank[0].given.empty()) return std::nullopt;
  GivenTopology given = parse_topology(by_rank[0].given);
  for (std::size_t r = 0; r < by_rank.size(); ++r)
    if (by_rank[r].job.rank >= given.node_of_rank.size())
      throw Error(ErrorKind::transport, "rank " + std::to_string(r) + " says that it is rank " +
                                            std::to_string(by_rank[r].job.rank) + " of a job of " +
                                            counted(given.node_of_rank.size(), "rank"));
  return given;
}

RankGroups nodes_of(std::span<const RankPlace> by_rank, const std::optional<GivenTopology>& given) {
  std::vector<std::optional<std::uint64_t>> keys;
  for (const RankPlace& place : by_rank)
    keys.emplace_back(given ? given->node_of_rank[place.job.rank] : place.node);
  return group_by<std::uint64_t>(keys);
}

/// A domain belongs to a node, as it is and as it is given.
RankGroups numa_domains_of(std::span<const RankPlace> by_rank, const RankGroups& nodes) {
  using Key = std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>;
  std::vector<std::optional<Key>> keys;
  for (std::size_t r = 0; r < by_rank.size(); ++r) {
    const RankPlace& place = by_rank[r];
    keys.push_back(place.numa_domain == Core::unknown
                       ? std::nullopt
                       : std::optional(Key{nodes.of_rank[r], place.node, place.numa_domain}));
  }
  const bool known = std::ranges::any_of(keys, [](const auto& key) { return key.has_value(); });
  return known ? group_by<Key>(keys) : RankGroups{};
}

/// Known where every rank is at a switch, and each node at one.
RankGroups switches_of(std::span<const RankPlace> by_rank, const RankGroups& nodes,
                       const std::optional<GivenTopology>& given) {
  if (given && given->switch_of_node.empty()) return {};
  std::vector<std::optional<std::uint64_t>> keys;
  std::vector<std::optional<std::uint64_t>> of_node(nodes.count);
  for (std::size_t r = 0; r < by_rank.size(); ++r) {
    const RankPlace& place = by_rank[r];
    const std::uint64_t key =
        given ? given->switch_of_node[given->node_of_rank[place.job.rank]] : place.network_switch;
    if (!given && key == 0) return {};
    auto& node = of_node[nodes.of_rank[r]];
    if (node.value_or(key) != key) return {};
    node = key;
    keys.emplace_back(key);
  }
  return group_by<std::uint64_t>(keys);
}

/// Other ranks of this node as it is, whatever node is given: they may be on the same cores. So may
/// ranks of the job that are not here to tell.
std::vector<UsableCore> cores_of(std::span<const RankPlace> by_rank, std::size_t rank,
                                 const Machine& machine) {
  const RankPlace& own = by_rank[rank];
  const bool told_by_all = by_rank.size() >= own.job.ranks;
  std::vector<const ThreadSet*> others;
  for (std::size_t r = 0; r < by_rank.size(); ++r)
    if (r != rank && by_rank[r].node == own.node) others.push_back(&by_rank[r].threads);
  std::vector<UsableCore> cores;
  for (const Core& core : machine.cores) {
    const ThreadSet threads = intersection(core.threads, own.threads);
    if (threads.empty()) continue;
    const bool alone = told_by_all && std::ranges::none_of(others, [&](const ThreadSet* other) {
                         return other->empty() || other->intersects(core.threads);
                       });
    cores.push_back({.number = core.number,
                     .numa_domain = core.numa_domain,
                     .threads = threads.numbers(),
                     .alone = alone});
  }
  return cores;
}

}  // namespace

Topology topology_of(std::span<const RankPlace> by_rank, std::size_t rank, const Machine& machine) {
  const auto given = agreed_given(by_rank);
  Topology topology{.nodes = nodes_of(by_rank, given)};
  topology.numa_domains = numa_domains_of(by_rank, topology.nodes);
  topology.switches = switches_of(by_rank, topology.nodes, given);
  topology.cores = cores_of(by_rank, rank, machine);
  return topology;
}

std::shared_ptr<const Topology> topology_of_told(std::span<const std::vector<std::byte>> by_rank,
                                                 std::size_t rank) {
  std::vector<RankPlace> places;
  for (const auto& bytes : by_rank) places.push_back(rank_place_of(bytes, places.size()));
  auto topology = std::make_shared<const Topology>(topology_of(places, rank, this_machine()));
  const std::string_view source = places[0].given.empty() ? "" : ", as COHOM_TOPOLOGY says";
  log_once_for_all(static_cast<int>(rank), "topology: " + summary(*topology).append(source));
  return topology;
}

Topology topology_of_strangers(std::size_t ranks) {
  Topology topology;
  topology.nodes.of_rank.resize(ranks);
  std::iota(topology.nodes.of_rank.begin(), topology.nodes.of_rank.end(), 0u);
  topology.nodes.count = static_cast<std::uint32_t>(ranks);
  return topology;
}

std::string summary(const Topology& topology) {
  return counted(topology.nodes.of_rank.size(), "rank") + " on " +
         counted(topology.nodes.count, "node") +
         (topology.switches.known() ? ", " + std::to_string(topology.switches.count) +
                                          (topology.switches.count == 1 ? " switch" : " switches")
                                    : ", switches not known");
}

}  // namespace cohom
