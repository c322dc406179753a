#include "ucx_transport/transport_list.hpp"

#include <algorithm>
#include <iterator>

namespace cohom::ucx {

namespace {

/// Transports of shared memory have names in common.
bool stands_for(std::string_view name, std::string_view transport) {
  constexpr std::string_view shared[] = {"posix", "sysv", "xpmem", "cma", "knem"};
  if (name == transport || name == "all") return true;
  const auto* const copies = std::begin(shared) + 3;  // from here on they carry no small messages
  if (name == "mm") return std::find(std::begin(shared), copies, transport) != copies;
  return (name == "sm" || name == "shm") &&
         std::find(std::begin(shared), std::end(shared), transport) != std::end(shared);
}

}  // namespace

bool allows(std::string_view list, std::string_view transport) {
  const bool excludes = list.starts_with('^');
  if (excludes) list.remove_prefix(1);
  if (list.empty()) return true;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (stands_for(list.substr(0, comma), transport)) return !excludes;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return excludes;
}

}  // namespace cohom::ucx
