#include "topology_text.hpp"

#include "base/text.hpp"
#include "machine_info.hpp"
#include "topology/binding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

namespace cohom::bench {

namespace {

std::string numbers_text(const char* noun, std::span<const std::uint32_t> numbers) {
  return fmt::format("{}{} {}", noun, numbers.size() == 1 ? "" : "s", number_ranges(numbers));
}

template <class Selects>
std::vector<std::uint32_t> core_numbers(const Machine& machine, const Selects& selects) {
  std::vector<std::uint32_t> numbers;
  for (const Core& core : machine.cores)
    if (selects(core)) numbers.push_back(core.number);
  return numbers;
}

/// Domains without cores have memory alone.
std::string domain_text(const Machine& machine, const NumaDomain& domain) {
  const auto cores =
      core_numbers(machine, [&](const Core& core) { return core.numa_domain == domain.number; });
  return fmt::format("    NUMA domain {}: {}, {}\n", domain.number,
                     binary_size(static_cast<double>(domain.memory_bytes)),
                     numbers_text("core", cores));
}

std::string package_text(const Machine& machine, std::uint32_t package) {
  const auto cores =
      core_numbers(machine, [&](const Core& core) { return core.package == package; });
  std::string text = package == Core::unknown
                         ? fmt::format("  {}\n", numbers_text("core", cores))
                         : fmt::format("  package {}: {}\n", package, numbers_text("core", cores));
  for (const NumaDomain& domain : machine.numa_domains)
    if (std::ranges::any_of(machine.cores, [&](const Core& core) {
          return core.package == package && core.numa_domain == domain.number;
        }))
      text += domain_text(machine, domain);
  return text;
}

/// Nearest first.
std::string devices_text(const char* title, std::vector<Device> devices, const ThreadSet& own,
                         const Machine& machine) {
  std::ranges::stable_sort(devices, {},
                           [&](const Device& device) { return distance(device, own, machine); });
  std::string text = fmt::format("  {}:{}\n", title, devices.empty() ? " none" : "");
  for (const Device& device : devices)
    text += fmt::format(
        "    {}{}: {}\n", printable(device.name),
        device.address.empty() || device.address == device.name ? "" : " (" + device.address + ")",
        text_of(distance(device, own, machine)));
  return text;
}

}  // namespace

std::string machine_topology_text(const Machine& machine, const ThreadSet& own,
                                  const std::optional<Devices>& devices) {
  std::string text = fmt::format("machine, by {}\n", machine.source);
  std::set<std::uint32_t> packages;
  for (const Core& core : machine.cores) packages.insert(core.package);
  for (const std::uint32_t package : packages) text += package_text(machine, package);
  const auto cores =
      core_numbers(machine, [&](const Core& core) { return core.threads.intersects(own); });
  text += fmt::format("  this process may run on {}: {}\n", numbers_text("core", cores),
                      numbers_text("hardware thread", own.numbers()));
  if (!devices) return text + "  devices: not known\n";
  return text + devices_text("network", devices->nics, own, machine) +
         devices_text("GPUs", devices->gpus, own, machine);
}

std::string machine_topology_text() {
  return machine_topology_text(this_machine(), own_threads(), read_devices());
}

std::string cores_text(std::span<const UsableCore> cores) {
  if (cores.empty()) return "cores not known";
  std::vector<std::uint32_t> all, alone;
  for (const UsableCore& core : cores) {
    all.push_back(core.number);
    if (core.alone) alone.push_back(core.number);
  }
  const std::string text = numbers_text("core", all);
  if (alone.size() == all.size()) return text + ", alone";
  if (alone.empty()) return text + ", all shared with other ranks";
  return fmt::format("{}, of which {} alone", text, number_ranges(alone));
}

namespace {

/// "NUMA domain" is numbered among those of all nodes.
std::string group_text(const RankGroups& groups, const char* noun, std::size_t rank) {
  if (!groups.known() || groups.of_rank[rank] == RankGroups::none) return {};
  return fmt::format(", {} {}", noun, groups.of_rank[rank]);
}

}  // namespace

std::string ranks_text(const Topology& topology, std::span<const std::string> cores) {
  std::string text = fmt::format("{} on {}{}\n", counted(cores.size(), "rank"),
                                 counted(topology.nodes.count, "node"),
                                 topology.switches.known() ? "" : "; switches are not known");
  for (std::uint32_t node = 0; node < topology.nodes.count; ++node) {
    const auto ranks = topology.nodes.ranks_of(node);
    const std::vector<std::uint32_t> numbers(ranks.begin(), ranks.end());
    const auto lowest = static_cast<std::size_t>(ranks.front());
    text += fmt::format("  node {}{}: {}\n", node, group_text(topology.switches, "switch", lowest),
                        numbers_text("rank", numbers));
    for (const std::uint32_t rank : numbers)
      text += fmt::format("    rank {}: {}{}\n", rank, cores[rank],
                          group_text(topology.numa_domains, "NUMA domain", rank));
  }
  return text;
}

}  // namespace cohom::bench
