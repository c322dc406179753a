#include "topology/node_identity.hpp"

#include "base/log.hpp"

#include <unistd.h>
#include <xxhash.h>

#include <array>
#include <fstream>

namespace cohom {

std::uint64_t node_identity(const std::string& host, const std::string& boot) {
  const std::string text = host + '\n' + boot;
  return XXH3_64bits(text.data(), text.size());
}

std::uint64_t node_identity() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  if (!(file >> boot))
    log_once("topology: this system has no boot_id; nodes are told apart by host names alone");
  return node_identity(host.data(), boot);
}

}  // namespace cohom
