#include "topology/given_topology.hpp"

#include "base/environment.hpp"
#include "base/text.hpp"

#include <cohom/error.hpp>

#include <cstddef>
#include <numeric>
#include <optional>
#include <span>

namespace cohom {

namespace {

constexpr const char* variable = "COHOM_TOPOLOGY";
/// Of all nodes together; more would be a slip, and memory.
constexpr std::uint64_t max_ranks = 1 << 20;

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  throw Error(ErrorKind::invalid_argument,
              std::string(variable) + "=" + printable(std::string(text)) + ": " + why +
                  "; right would be, for example, nodes=8x4 (8 nodes of 4 ranks), nodes=4,4,1 or "
                  "nodes=8x4:switches=2x4:order=cyclic");
}

/// 4: one group of that size. 8x4: 8 groups of it.
struct Item {
  std::uint64_t groups = 0, size = 0;
};

std::optional<Item> parse_item(std::string_view text) {
  Item item{.groups = 1};
  if (const std::size_t times = text.find('x'); times != std::string_view::npos) {
    item.groups = parse_number<std::uint32_t>(text.substr(0, times)).value_or(0);
    text.remove_prefix(times + 1);
  }
  item.size = parse_number<std::uint32_t>(text).value_or(0);
  if (item.groups == 0 || item.size == 0) return std::nullopt;
  return item;
}

/// Sizes, e.g. of "2x4,1": 4, 4, 1. `whole`: for the error.
std::vector<std::uint32_t> parse_sizes(std::string_view list, std::string_view name,
                                       std::string_view whole) {
  std::vector<std::uint32_t> sizes;
  std::uint64_t sum = 0;
  // A mark at the end begins one more item, which is empty.
  for (bool more = true; more;) {
    more = list.find(',') != std::string_view::npos;
    const std::string_view text = take_part(list, ',');
    const auto item = parse_item(text);
    if (!item)
      refuse(whole, "\"" + printable(std::string(text)) + "\" among the " + std::string(name) +
                        " is neither a size nor COUNTxSIZE");
    sum += item->groups * item->size;  // of 32 bits each
    if (sum > max_ranks)
      refuse(whole, "its " + std::string(name) + " have more than " + std::to_string(max_ranks) +
                        " members");
    sizes.insert(sizes.end(), item->groups, static_cast<std::uint32_t>(item->size));
  }
  return sizes;
}

/// The number of the group of each member, in order: of 2, 1 it is 0, 0, 1.
std::vector<std::uint32_t> in_blocks(std::span<const std::uint32_t> sizes) {
  std::vector<std::uint32_t> groups;
  for (std::uint32_t group = 0; group < sizes.size(); ++group)
    groups.insert(groups.end(), sizes[group], group);
  return groups;
}

/// Members are dealt to the groups in turn, but for those that are full: of 2, 1 it is 0, 1, 0.
std::vector<std::uint32_t> in_turn(std::span<const std::uint32_t> sizes) {
  std::vector<std::uint32_t> groups, open(sizes.size());
  std::iota(open.begin(), open.end(), 0u);
  for (std::uint32_t round = 1; !open.empty(); ++round) {
    groups.insert(groups.end(), open.begin(), open.end());
    std::erase_if(open, [&](std::uint32_t group) { return sizes[group] == round; });
  }
  return groups;
}

/// What stands after each key; empty: it is not there.
struct Fields {
  std::string_view nodes, switches, order;
};

Fields parse_fields(std::string_view whole) {
  Fields fields;
  std::string_view left = whole;
  for (bool more = !whole.empty(); more;) {
    more = left.find(':') != std::string_view::npos;
    std::string_view value = take_part(left, ':');
    const std::string_view key = take_part(value, '=');
    std::string_view* const field = key == "nodes"      ? &fields.nodes
                                    : key == "switches" ? &fields.switches
                                    : key == "order"    ? &fields.order
                                                        : nullptr;
    if (field == nullptr)
      refuse(whole, "\"" + printable(std::string(key)) + "\" is none of nodes, switches, order");
    if (!field->empty()) refuse(whole, std::string(key) + " stands there twice");
    if (value.empty()) refuse(whole, std::string(key) + " has no value");
    *field = value;
  }
  if (fields.nodes.empty()) refuse(whole, "it has no nodes");
  return fields;
}

}  // namespace

GivenTopology parse_topology(std::string_view text) {
  if (text.size() > max_topology_text)
    refuse(text.substr(0, 64), "it is longer than " + std::to_string(max_topology_text) +
                                   " characters; write equal nodes as COUNTxSIZE");
  const Fields fields = parse_fields(text);
  if (!fields.order.empty() && fields.order != "block" && fields.order != "cyclic")
    refuse(text, "the order is neither block nor cyclic");
  const auto sizes = parse_sizes(fields.nodes, "nodes", text);
  GivenTopology topology{
      .node_of_rank = fields.order == "cyclic" ? in_turn(sizes) : in_blocks(sizes),
      .switch_of_node = {}};
  if (fields.switches.empty()) return topology;
  topology.switch_of_node = in_blocks(parse_sizes(fields.switches, "switches", text));
  if (topology.switch_of_node.size() != sizes.size())
    refuse(text, "its switches have " + counted(topology.switch_of_node.size(), "node") +
                     ", and there are " + std::to_string(sizes.size()));
  return topology;
}

std::string topology_of_environment(const JobRank& job) {
  std::string text = option_or_environment({}, variable, {});
  if (text.empty()) return text;
  const std::size_t ranks = parse_topology(text).node_of_rank.size();
  if (ranks != job.ranks)
    refuse(text, "its nodes have " + counted(ranks, "rank") + ", and this job has " +
                     std::to_string(job.ranks));
  return text;
}

}  // namespace cohom
