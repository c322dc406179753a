#include "topology/hwloc.hpp"

#include <hwloc.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

namespace cohom {

namespace {

struct DestroyTopology {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using HwlocTopology = std::unique_ptr<hwloc_topology, DestroyTopology>;
using PciAttributes = hwloc_obj_attr_u::hwloc_pcidev_attr_s;

/// What is not asked. Drivers of GPUs take seconds and memory of the device to start; PCI's classes
/// do. The component x86 moves this thread to each core of the machine in turn, where it waits for
/// what runs there: for a rank that spins, as long as its time slice is. Linux says as much.
void leave_out(hwloc_topology_t topology) {
#if HWLOC_API_VERSION >= 0x20100
  for (const char* component : {"x86", "cuda", "nvml", "rsmi", "levelzero", "opencl", "gl"})
    hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, component);
#else
  static_cast<void>(topology);
#endif
}

/// Null: `why_not` says why.
HwlocTopology load(bool with_devices, std::string& why_not) {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) {
    why_not = std::string("hwloc_topology_init: ") + std::strerror(errno);
    return nullptr;
  }
  HwlocTopology owner(topology);
  leave_out(topology);
  if (with_devices) hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  if (hwloc_topology_load(topology) == 0) return owner;
  why_not = std::string("hwloc_topology_load: ") + std::strerror(errno);
  return nullptr;
}

ThreadSet threads_of(hwloc_const_bitmap_t bitmap) {
  ThreadSet threads;
  if (bitmap == nullptr) return threads;
  for (int bit = hwloc_bitmap_first(bitmap); bit >= 0; bit = hwloc_bitmap_next(bitmap, bit))
    threads.add(static_cast<std::uint32_t>(bit));
  return threads;
}

/// `object`: a core, or a hardware thread where hwloc knows no cores. Others may be on those of its
/// hardware threads that this process may not use.
Core core_of(hwloc_topology_t topology, hwloc_obj_t object) {
  Core core{.number = object->logical_index, .threads = threads_of(object->complete_cpuset)};
  if (hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, object))
    core.package = package->logical_index;
  // Memory of several kinds has several domains at one place: the first counts.
  if (const int domain = hwloc_bitmap_first(object->nodeset); domain >= 0)
    core.numa_domain = static_cast<std::uint32_t>(domain);
  return core;
}

std::vector<Core> cores_of(hwloc_topology_t topology) {
  const hwloc_obj_type_t type =
      hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  std::vector<Core> cores;
  for (hwloc_obj_t object = hwloc_get_next_obj_by_type(topology, type, nullptr); object != nullptr;
       object = hwloc_get_next_obj_by_type(topology, type, object))
    cores.push_back(core_of(topology, object));
  return cores;
}

std::vector<NumaDomain> numa_domains_of(hwloc_topology_t topology) {
  std::vector<NumaDomain> domains;
  for (hwloc_obj_t object = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, nullptr);
       object != nullptr; object = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, object))
    domains.push_back(
        {.number = object->os_index, .memory_bytes = object->attr->numanode.local_memory});
  return domains;
}

std::vector<CacheLevel> caches_of(hwloc_topology_t topology) {
  std::vector<CacheLevel> caches;
  for (const hwloc_obj_type_t type : {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE}) {
    const int count = hwloc_get_nbobjs_by_type(topology, type);
    if (count <= 0) continue;
    caches.push_back({.level = 1 + type - HWLOC_OBJ_L1CACHE,
                      .count = count,
                      .bytes = hwloc_get_obj_by_type(topology, type, 0)->attr->cache.size});
  }
  return caches;
}

std::string address_of(const PciAttributes& pci) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.%01x", static_cast<unsigned>(pci.domain),
                static_cast<unsigned>(pci.bus), static_cast<unsigned>(pci.dev),
                static_cast<unsigned>(pci.func));
  return text.data();
}

bool is_network(hwloc_obj_t object) {
  const auto type = object->attr->osdev.type;
  return type == HWLOC_OBJ_OSDEV_NETWORK || type == HWLOC_OBJ_OSDEV_OPENFABRICS;
}

/// Other display controllers are the consoles of servers.
bool is_gpu(const PciAttributes& pci) {
  constexpr std::array<unsigned, 3> makers = {0x10de, 0x1002, 0x8086};  // NVIDIA, AMD, Intel
  constexpr unsigned display = 0x03, accelerator = 0x12;
  const unsigned base_class = pci.class_id >> 8;
  return base_class == accelerator ||
         (base_class == display && std::ranges::find(makers, pci.vendor_id) != makers.end());
}

Device device_of(hwloc_topology_t topology, hwloc_obj_t object) {
  Device device;
  if (object->type == HWLOC_OBJ_PCI_DEVICE) device.address = address_of(object->attr->pcidev);
  device.near = threads_of(hwloc_get_non_io_ancestor_obj(topology, object)->cpuset);
  return device;
}

/// One of several names, e.g. "mlx5_0, ib0".
void add_name(Device& device, const char* name) {
  if (name == nullptr) return;
  if (!device.name.empty()) device.name += ", ";
  device.name += name;
}

/// A network adapter is one device for all names that the system has for it.
std::vector<Device> nics_of(hwloc_topology_t topology) {
  std::vector<Device> nics;
  hwloc_obj_t last = nullptr;
  for (hwloc_obj_t object = hwloc_get_next_osdev(topology, nullptr); object != nullptr;
       object = hwloc_get_next_osdev(topology, object)) {
    if (!is_network(object)) continue;
    hwloc_obj_t at = object->parent->type == HWLOC_OBJ_PCI_DEVICE ? object->parent : object;
    if (at != last) nics.push_back(device_of(topology, at));
    add_name(nics.back(), object->name);
    last = at;
  }
  return nics;
}

std::vector<Device> gpus_of(hwloc_topology_t topology) {
  std::vector<Device> gpus;
  for (hwloc_obj_t object = hwloc_get_next_pcidev(topology, nullptr); object != nullptr;
       object = hwloc_get_next_pcidev(topology, object)) {
    if (!is_gpu(object->attr->pcidev)) continue;
    Device gpu = device_of(topology, object);
    for (hwloc_obj_t child = object->io_first_child; child != nullptr; child = child->next_sibling)
      add_name(gpu, child->name);
    if (gpu.name.empty()) gpu.name = gpu.address;
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

}  // namespace

std::optional<Machine> machine_of_hwloc(std::string& why_not) {
  const HwlocTopology owner = load(false, why_not);
  if (!owner) return std::nullopt;
  hwloc_topology_t topology = owner.get();
  Machine machine{.source = "hwloc " HWLOC_VERSION, .by_hwloc = true};
  if (hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0))
    if (const char* model = hwloc_obj_get_info_by_name(package, "CPUModel"))
      machine.processor = model;
  machine.packages = static_cast<std::uint32_t>(
      std::max(0, hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE)));
  machine.cores = cores_of(topology);
  machine.numa_domains = numa_domains_of(topology);
  machine.caches = caches_of(topology);
  machine.memory_bytes = hwloc_get_root_obj(topology)->total_memory;
  return machine;
}

std::optional<Devices> devices_of_hwloc(std::string& why_not) {
  const HwlocTopology owner = load(true, why_not);
  if (!owner) return std::nullopt;
  return Devices{.nics = nics_of(owner.get()), .gpus = gpus_of(owner.get())};
}

}  // namespace cohom
