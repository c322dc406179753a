#include "scale/network_shape.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace cohom::bench {
namespace {

constexpr NetworkShape fat(std::string_view name, int ranks_a_node = 1, int uplinks = 32) {
  return {.name = name, .ranks_a_node = ranks_a_node, .uplinks = uplinks};
}

/// TCP: the kernel's share is in latency and overhead.
constexpr NetworkShape ethernet(std::string_view name, Rate link, int ranks_a_node = 1,
                                int uplinks = 32) {
  return {.name = name,
          .ranks_a_node = ranks_a_node,
          .uplinks = uplinks,
          .link = link,
          .latency = 25000,
          .hop = 1000,
          .overhead = 1500,
          .adapter_gap = 50};
}

constexpr Rate ten_gigabits = 1.25;
constexpr Rate one_gigabit = 0.125;

constexpr NetworkShape table[] = {
    fat("fat"),
    fat("fato4", 1, 8),
    fat("fat8", 8),
    fat("fat8o4", 8, 8),
    ethernet("eth10", ten_gigabits),
    ethernet("eth10o4", ten_gigabits, 1, 8),
    ethernet("eth10x8", ten_gigabits, 8),
    ethernet("eth10x8o4", ten_gigabits, 8, 8),
    ethernet("eth1", one_gigabit),
    ethernet("eth1x8", one_gigabit, 8),
};

}  // namespace

Nanoseconds NetworkShape::shortest_hop() const {
  const Nanoseconds near = latency - 2 * hop;
  return 2 * overhead + (ranks_a_node > 1 ? std::min(memory_latency, near) : near);
}

std::span<const NetworkShape> network_table() { return table; }

const NetworkShape* find_network(std::string_view name) {
  const auto* const row = std::ranges::find(table, name, &NetworkShape::name);
  return row == std::end(table) ? nullptr : row;
}

std::string describe(const NetworkShape& shape) {
  return fmt::format(
      "{} Gbit/s, {} us, {} us a message and side, {} a node, {}:1 oversubscribed", 8 * shape.link,
      shape.latency / 1000, shape.overhead / 1000,
      shape.ranks_a_node == 1 ? "1 rank" : fmt::format("{} ranks", shape.ranks_a_node),
      shape.nodes_a_leaf / shape.uplinks);
}

}  // namespace cohom::bench
