#include "topology/machine.hpp"

#include "base/log.hpp"
#include "topology/binding.hpp"
#include "topology/hwloc.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace cohom {

Machine read_machine() {
  std::string why_not;
  if (auto machine = machine_of_hwloc(why_not)) return std::move(*machine);
  Machine machine = machine_by_affinity(why_not);
  log_once("topology: cores by " + machine.source + "; each hardware thread counts as a core");
  return machine;
}

const Machine& this_machine() {
  static const Machine machine = read_machine();
  return machine;
}

Machine machine_by_affinity(const std::string& why_not_hwloc) {
  Machine machine{.source = "sched_getaffinity (" + why_not_hwloc + ")"};
  for (const std::uint32_t thread : own_threads().numbers()) {
    Core core{.number = thread};
    core.threads.add(thread);
    machine.cores.push_back(std::move(core));
  }
  return machine;
}

std::optional<Devices> read_devices() {
  std::string why_not;
  auto devices = devices_of_hwloc(why_not);
  if (!devices) log_once("topology: no devices are known: " + why_not);
  return devices;
}

namespace {

/// What the cores of some hardware threads are in.
struct Place {
  std::set<std::uint32_t> packages, numa_domains;
};

Place place_of(const ThreadSet& threads, const Machine& machine) {
  Place place;
  for (const Core& core : machine.cores) {
    if (!core.threads.intersects(threads)) continue;
    place.packages.insert(core.package);
    place.numa_domains.insert(core.numa_domain);
  }
  return place;
}

/// Whether it is one place that is known, and one of those.
bool is_in(const std::set<std::uint32_t>& place, const std::set<std::uint32_t>& of) {
  return place.size() == 1 && *place.begin() != Core::unknown && of.contains(*place.begin());
}

}  // namespace

Distance distance(const Device& device, const ThreadSet& threads, const Machine& machine) {
  const Place there = place_of(device.near, machine), here = place_of(threads, machine);
  if (is_in(there.numa_domains, here.numa_domains)) return Distance::numa_domain;
  if (is_in(there.packages, here.packages)) return Distance::package;
  return Distance::machine;
}

std::string text_of(Distance distance) {
  switch (distance) {
    case Distance::numa_domain: return "same NUMA domain";
    case Distance::package: return "same package";
    case Distance::machine: break;
  }
  return "far";
}

}  // namespace cohom
