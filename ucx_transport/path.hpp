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
  for (const std::string_view name : {"self", "posix", "sysv", "cma", "knem", "xpmem"})
    if (transport == name) return Path::memory;
  return Path::network;
}

}  // namespace cohom::ucx
