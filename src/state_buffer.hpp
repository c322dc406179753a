#pragma once
// StateBuffer: what a codec remembers about one buffer between calls, and its bytes in a checkpoint.

#include "huge_allocator.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cohom {

struct StateBuffer {
  std::string key;         ///< PlanCore::state_key() of the calls it belongs to; empty: unused
  std::uint64_t step = 0;  ///< calls made; seeds the random draws of the next one
  /// The codec's, zeros at first.
  std::vector<std::byte, HugeAllocator<std::byte>> bytes;

  /// Header (magic and version, 32 bits each; step, length of key, length of bytes, checksum, 64 bits
  /// each; little-endian), key, bytes.
  [[nodiscard]] std::vector<std::byte> save() const;
  /// @throws Error(invalid_argument) when `saved` is not what save() wrote.
  static StateBuffer restore(std::span<const std::byte> saved);
};

}  // namespace cohom
