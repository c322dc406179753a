#pragma once
// Path: what carries messages, as far as it decides how they are best sent.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cohom::ucx {

/// Of several, the highest counts.
enum class Path : std::uint8_t { memory, network, tcp };

constexpr std::string_view name_of(Path path) noexcept {
  constexpr std::string_view names[] = {"memory", "network", "TCP"};
  return names[static_cast<std::size_t>(path)];
}

/// The path that a transport of UCX is.
constexpr Path path_by(std::string_view transport) noexcept {
  if (transport == "tcp") return Path::tcp;
  // The last ones carry a device's memory, beside what carries the rest.
  for (const std::string_view name :
       {"self", "posix", "sysv", "cma", "knem", "xpmem", "cuda_ipc", "cuda_copy", "gdr_copy"})
    if (transport == name) return Path::memory;
  return Path::network;
}

/// What carries words from one device's memory to another's, where the lanes of an endpoint are
/// these (UCX's names, with blanks between them). Only the first two do so without a copy in the
/// host's memory.
constexpr std::string_view device_path_by(std::string_view lanes) noexcept {
  const auto has = [&](std::string_view name) { return lanes.find(name) != lanes.npos; };
  if (has("cuda_ipc")) return "cuda_ipc";
  if (has("rc_") || has("dc_") || has("ud_")) return "gpudirect";
  return "cuda_copy";
}

}  // namespace cohom::ucx
