#include "machine_info.hpp"

#include "base/text.hpp"
#include "topology/machine.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <thread>

namespace cohom::bench {
namespace {

using Json = nlohmann::ordered_json;

Json cache_list(const Machine& machine) {
  Json caches = Json::array();
  for (const CacheLevel& cache : machine.caches)
    caches.push_back({{"level", cache.level}, {"count", cache.count}, {"bytes", cache.bytes}});
  return caches;
}

void add_machine(Json& info, const Machine& machine) {
  std::size_t threads = 0;
  for (const Core& core : machine.cores) threads += core.threads.numbers().size();
  info["hwloc"] = machine.source.substr(machine.source.find(' ') + 1);
  if (!machine.processor.empty()) info["cpu"] = machine.processor;
  info["packages"] = machine.packages;
  info["numa_nodes"] = machine.numa_domains.size();
  info["cores"] = machine.cores.size();
  info["threads"] = threads;
  info["memory_bytes"] = machine.memory_bytes;
  info["caches"] = cache_list(machine);
}

}  // namespace

std::string binary_size(double bytes) {
  for (const char* unit : {"KiB", "MiB"}) {
    bytes /= 1024;
    if (bytes < 1024) return fmt::format("{:.4g} {}", bytes, unit);
  }
  return fmt::format("{:.4g} GiB", bytes / 1024);
}

Json machine_info() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  Json info = {{"host", host.data()}, {"threads", std::thread::hardware_concurrency()}};
  if (const Machine& machine = this_machine(); machine.by_hwloc) add_machine(info, machine);
  return info;
}

std::string machine_text(const Json& info) {
  std::string text = fmt::format("machine {}", info["host"].get<std::string>());
  if (info.contains("cpu")) text += ", " + info["cpu"].get<std::string>();
  if (!info.contains("hwloc"))
    return text + fmt::format("\n  {} (no hwloc)\n",
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
