// libFuzzer target: what other ranks tell of where they run, and COHOM_TOPOLOGY. Bytes are a place
// or an Error; places that were read come to a topology or an Error, and its numbers are in range.
// See scripts/fuzz.

#include "fuzz_input.hpp"
#include "require.hpp"

#include "topology/topology_of.hpp"

#include <cohom/error.hpp>
#include <cohom/topology.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace cohom;
using fuzz::FuzzInput;
using fuzz::require;

/// Numbered in the order of their lowest ranks.
void require_in_order(const RankGroups& groups, std::size_t ranks) {
  require(!groups.known() || groups.of_rank.size() == ranks);
  std::uint32_t met = 0;
  for (const std::uint32_t group : groups.of_rank) {
    if (group == RankGroups::none) continue;
    require(group <= met);
    if (group == met) ++met;
  }
  require(met == groups.count);
}

void require_topology(std::span<const RankPlace> places, const Machine& machine) {
  try {
    const Topology topology = topology_of(places, 0, machine);
    require(topology.nodes.known());
    require(std::ranges::find(topology.nodes.of_rank, RankGroups::none) ==
            topology.nodes.of_rank.end());
    for (const RankGroups* groups : {&topology.nodes, &topology.numa_domains, &topology.switches})
      require_in_order(*groups, places.size());
    require(topology.cores.size() <= machine.cores.size());
  } catch (const Error& error) {  // COHOM_TOPOLOGY may be anything; this rank's own is read before
    require(error.kind() != ErrorKind::memory);
  }
}

/// Whether the bytes are a place; then it is written as it was read.
bool add_place(std::vector<RankPlace>& places, std::span<const std::byte> bytes) {
  try {
    places.push_back(rank_place_of(bytes, places.size()));
    const RankPlace again = rank_place_of(to_bytes(places.back()), 0);
    require(again.given == places.back().given && again.threads == places.back().threads);
    return true;
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::transport);
    return false;
  }
}

void parse(std::string_view text) {
  try {
    const GivenTopology given = parse_topology(text);
    require(!given.node_of_rank.empty());
    const std::uint32_t last = *std::ranges::max_element(given.node_of_rank);
    require(given.switch_of_node.empty() || given.switch_of_node.size() == last + 1);
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::invalid_argument);
  }
}

RankPlace next_place(FuzzInput& input) {
  RankPlace place{.node = input.number(1),
                  .network_switch = input.number(1),
                  .numa_domain = static_cast<std::uint32_t>(input.number(4)),
                  .job = {.rank = static_cast<std::uint32_t>(input.number(4)), .ranks = 1}};
  for (std::size_t left = input.choice(8); left-- > 0;)
    place.threads.add(static_cast<std::uint32_t>(input.number(1)));
  for (std::size_t left = input.choice(40); left-- > 0;)
    place.given += static_cast<char>(input.byte());
  return place;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  parse({reinterpret_cast<const char*>(data), size});
  static const Machine machine = machine_by_affinity("a fuzz target");
  std::vector<RankPlace> places;
  if (add_place(places, {reinterpret_cast<const std::byte*>(data), size}))
    require_topology(places, machine);

  // Ranks whose bytes were changed on their way, here and there.
  places.clear();
  FuzzInput input(data, size);
  const std::string given = next_place(input).given;
  while (!input.empty()) {
    RankPlace place = next_place(input);
    if (input.choice(8) != 0) place.given = given;
    auto bytes = to_bytes(place);
    if (input.choice(4) == 0)
      bytes[input.choice(bytes.size())] ^= static_cast<std::byte>(input.byte());
    add_place(places, bytes);
  }
  if (!places.empty()) require_topology(places, machine);
  return 0;
}
