#pragma once
// Where a buffer lives.

#include <cstdint>
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

}  // namespace cohom
