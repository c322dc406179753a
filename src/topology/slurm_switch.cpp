#include "topology/slurm_switch.hpp"

#include "base/environment.hpp"
#include "base/log.hpp"
#include "base/text.hpp"

#include <xxhash.h>

namespace cohom {

std::string switch_path(std::string_view address, std::string_view pattern, std::string_view node) {
  std::string path;
  for (;;) {
    const std::string_view kind = take_part(pattern, '.');
    if (pattern.empty()) {  // what is left is the node, whose name may have dots
      const bool is_own = kind == "node" && !address.empty() && (node.empty() || address == node);
      return is_own ? path : std::string();
    }
    const std::string_view name = take_part(address, '.');
    if ((kind != "switch" && kind != "block") || name.empty()) return {};
    path += (path.empty() ? "" : ".") + std::string(name);
  }
}

std::uint64_t slurm_switch() {
  const std::string address = option_or_environment({}, "SLURM_TOPOLOGY_ADDR", {});
  const std::string pattern = option_or_environment({}, "SLURM_TOPOLOGY_ADDR_PATTERN", {});
  if (address.empty() || pattern.empty() || pattern == "node") return 0;
  const std::string node = option_or_environment({}, "SLURMD_NODENAME", {});
  const std::string path = switch_path(address, pattern, node);
  if (path.empty()) {
    log_once("topology: SLURM_TOPOLOGY_ADDR=" + address + " with the pattern " + pattern +
             " names no switch of node \"" + node + "\"; its switch is not known");
    return 0;
  }
  return XXH3_64bits(path.data(), path.size()) | 1;  // not 0
}

}  // namespace cohom
