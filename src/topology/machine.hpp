#pragma once
// Machine: the processor, caches and devices of the machine that this process runs on, by hwloc.

#include "topology/thread_set.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cohom {

/// A core, with all its hardware threads, those included that this process may not be bound to.
struct Core {
  static constexpr std::uint32_t unknown = UINT32_MAX;

  std::uint32_t number = 0;  ///< hwloc's logical one; without hwloc that of its hardware thread
  std::uint32_t package = unknown;
  std::uint32_t numa_domain = unknown;
  ThreadSet threads = {};
};

struct NumaDomain {
  std::uint32_t number = 0;  ///< as the system numbers them
  std::uint64_t memory_bytes = 0;
};

/// The caches of one level.
struct CacheLevel {
  int level = 0;
  int count = 0;
  std::uint64_t bytes = 0;  ///< of the first
};

struct Machine {
  std::string source;     ///< who says so, for people, e.g. "hwloc 2.9"
  bool by_hwloc = false;  ///< false: the cores' threads are known, and nothing else
  std::string processor = {};
  std::uint32_t packages = 0;
  std::vector<Core> cores = {};
  std::vector<NumaDomain> numa_domains = {};
  std::vector<CacheLevel> caches = {};
  std::uint64_t memory_bytes = 0;
};

/// By hwloc, which the variables HWLOC_SYNTHETIC and HWLOC_XMLFILE may tell of another machine.
/// Where there is none or it fails, machine_by_affinity(), which the log says.
/// Takes milliseconds, and moves to no other core.
Machine read_machine();

/// The same, read once a process.
const Machine& this_machine();

/// Without hwloc: every hardware thread of this process is taken for a core.
Machine machine_by_affinity(const std::string& why_not_hwloc);

/// A network adapter or a GPU.
struct Device {
  std::string name;          ///< as the system calls it, e.g. "eth0"; else its address
  std::string address = {};  ///< on the PCI bus, e.g. "0000:17:00.0"; empty: it has none
  ThreadSet near = {};       ///< the hardware threads that share its place on the machine's buses
};

struct Devices {
  std::vector<Device> nics = {};
  std::vector<Device> gpus = {};
};

/// By hwloc, without the drivers of GPUs. Takes tens of milliseconds, so nobody calls it who needs
/// no devices. None where there is no hwloc or it fails, which the log says.
std::optional<Devices> read_devices();

/// What lies between a device and hardware threads.
enum class Distance : std::uint8_t {
  numa_domain,  ///< nothing: it is in the NUMA domain of some of them
  package,      ///< it is in the package of some of them
  machine,      ///< more than that, or nobody knows
};

/// `threads`: those that this process may run on.
Distance distance(const Device& device, const ThreadSet& threads, const Machine& machine);

/// For people: "same NUMA domain".
std::string text_of(Distance distance);

}  // namespace cohom
