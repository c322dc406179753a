#pragma once
// StateBuffer: what a codec remembers about one buffer between calls, and its bytes in a
// checkpoint.

#include "base/huge_allocator.hpp"
#include "memory/device_work.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohom {

struct StateBuffer {
  std::string key;         ///< PlanCore::state_key() of the calls it belongs to; empty: unused
  std::uint64_t step = 0;  ///< calls made; seeds the random draws of the next one
  /// The codec's, zeros at first; empty while they lie on a device.
  std::vector<std::byte, HugeAllocator<std::byte>> bytes = {};
  std::shared_ptr<DeviceWork> device = nullptr;  ///< whose memory `there` is
  MemoryArray<std::byte> there = {};

  /// Brings so many bytes to where a call wants them: to the device, or to the host (null). Both
  /// devices are asked, so no DeviceWork::Use is needed. @throws std::bad_alloc or Error
  std::span<std::byte> bring_to(const std::shared_ptr<DeviceWork>& work, std::size_t count);
  /// Of the codec's bytes, wherever they lie.
  [[nodiscard]] std::size_t size() const { return device ? there.size() : bytes.size(); }

  /// Header (magic and version, 32 bits each; step, length of key, length of bytes, checksum, 64
  /// bits each; little-endian), key, bytes.
  [[nodiscard]] std::vector<std::byte> save() const { return save(key); }
  /// The same under another key.
  [[nodiscard]] std::vector<std::byte> save(std::string_view other_key) const;
  /// @throws Error(invalid_argument) when `saved` is not what save() wrote.
  static StateBuffer restore(std::span<const std::byte> saved);
};

}  // namespace cohom
