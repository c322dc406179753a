#pragma once
// Where a buffer lives.

#include <cohom/cxx20.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace cohom {

enum class MemorySpace : std::uint8_t { host, pinned, cuda };

constexpr std::string_view name_of(MemorySpace space) noexcept {
  switch (space) {
    case MemorySpace::host: return "host";
    case MemorySpace::pinned: return "pinned";
    case MemorySpace::cuda: return "cuda";
  }
  return "?";
}

constexpr std::optional<MemorySpace> memory_space_named(std::string_view name) noexcept {
  for (const auto space : {MemorySpace::host, MemorySpace::pinned, MemorySpace::cuda})
    if (name_of(space) == name) return space;
  return std::nullopt;
}

}  // namespace cohom
