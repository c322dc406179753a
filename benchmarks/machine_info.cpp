#include "machine_info.hpp"

#include "base/text.hpp"

#include <fmt/format.h>
#include <unistd.h>
#if COHOM_HAVE_HWLOC
#include <hwloc.h>
#endif

#include <algorithm>
#include <array>
#include <memory>
#include <thread>

namespace cohom::bench {
namespace {

using Json = nlohmann::ordered_json;

#if COHOM_HAVE_HWLOC

struct DestroyTopology {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, DestroyTopology>;

Topology load_topology() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return nullptr;
  Topology owner(topology);
  return hwloc_topology_load(topology) == 0 ? std::move(owner) : nullptr;
}

Json cache_list(hwloc_topology_t topology) {
  Json caches = Json::array();
  for (const hwloc_obj_type_t type : {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE}) {
    const int count = hwloc_get_nbobjs_by_type(topology, type);
    if (count <= 0) continue;
    caches.push_back({{"level", 1 + type - HWLOC_OBJ_L1CACHE},
                      {"count", count},
                      {"bytes", hwloc_get_obj_by_type(topology, type, 0)->attr->cache.size}});
  }
  return caches;
}

void add_topology(Json& info) {
  const Topology owner = load_topology();
  if (!owner) return;
  hwloc_topology_t topology = owner.get();
  const auto count = [topology](hwloc_obj_type_t type) {
    return std::max(0, hwloc_get_nbobjs_by_type(topology, type));
  };
  info["hwloc"] = fmt::format("{}.{}", HWLOC_API_VERSION >> 16, HWLOC_API_VERSION >> 8 & 0xff);
  if (hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0))
    if (const char* model = hwloc_obj_get_info_by_name(package, "CPUModel")) info["cpu"] = model;
  info["packages"] = count(HWLOC_OBJ_PACKAGE);
  info["numa_nodes"] = count(HWLOC_OBJ_NUMANODE);
  info["cores"] = count(HWLOC_OBJ_CORE);
  info["threads"] = count(HWLOC_OBJ_PU);
  info["memory_bytes"] = hwloc_get_root_obj(topology)->total_memory;
  info["caches"] = cache_list(topology);
}

#endif

std::string binary_size(double bytes) {
  for (const char* unit : {"KiB", "MiB"}) {
    bytes /= 1024;
    if (bytes < 1024) return fmt::format("{:.4g} {}", bytes, unit);
  }
  return fmt::format("{:.4g} GiB", bytes / 1024);
}

}  // namespace

Json machine_info() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  Json info = {{"host", host.data()}, {"threads", std::thread::hardware_concurrency()}};
#if COHOM_HAVE_HWLOC
  add_topology(info);
#endif
  return info;
}

std::string machine_text(const Json& info) {
  std::string text = fmt::format("machine {}", info["host"].get<std::string>());
  if (info.contains("cpu")) text += ", " + info["cpu"].get<std::string>();
  if (!info.contains("hwloc"))
    return text + fmt::format("\n  {} (built without hwloc)\n",
                              counted(info["threads"].get<unsigned>(), "hardware thread"));
  text +=
      fmt::format("\n  {}, {}, {}, {}, {}\n", counted(info["packages"].get<unsigned>(), "package"),
                  counted(info["numa_nodes"].get<unsigned>(), "NUMA node"),
                  counted(info["cores"].get<unsigned>(), "core"),
                  counted(info["threads"].get<unsigned>(), "hardware thread"),
                  binary_size(info["memory_bytes"].get<double>()));
  for (const Json& cache : info["caches"])
    text += fmt::format("  {} x L{} cache of {}\n", cache["count"].get<int>(),
                        cache["level"].get<int>(), binary_size(cache["bytes"].get<double>()));
  return text;
}

}  // namespace cohom::bench
