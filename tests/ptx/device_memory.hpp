#pragma once
// The interpreter's device memory: one piece of memory that is mapped twice, as the emulated
// device's (kernels/device_runtime/emulated/arena.hpp). Its device addresses fault on the host.
// Besides, it knows of every byte whether it is allocated, and whether anybody has written it.

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace cohom::ptx {

class DeviceMemory {
 public:
  static constexpr std::size_t size = std::size_t{2} << 30;  ///< of addresses; pages come when used

  /// What is known of a byte, as bits.
  static constexpr std::uint8_t allocated = 1, written = 2;

  /// Of the process, made at the first use.
  static DeviceMemory& instance();

  /// Device address of so many bytes, 256-byte aligned, on pages of their own with unused ones on
  /// both sides. Null when there is no room. They hold no zeros, and count as not written.
  void* allocate(std::size_t bytes);
  /// False for an address that allocate() did not return.
  bool free(void* memory);

  /// Whether it is an address of the device's, allocated or not.
  [[nodiscard]] bool holds(const void* address) const {
    return reinterpret_cast<std::uintptr_t>(address) - device_ < size;
  }
  [[nodiscard]] bool is_allocated(const void* address) const {
    return holds(address) && (state_[offset(address)] & allocated) != 0;
  }
  [[nodiscard]] std::size_t offset(const void* address) const {
    return reinterpret_cast<std::uintptr_t>(address) - device_;
  }
  /// Where the interpreter finds a byte of the device's, and what it knows of it.
  [[nodiscard]] std::uint8_t* view(std::size_t offset) const { return view_ + offset; }
  [[nodiscard]] std::uint8_t* state(std::size_t offset) const { return state_ + offset; }

  /// View of a piece that is wholly allocated, else null.
  [[nodiscard]] std::uint8_t* whole(const void* address, std::size_t bytes) const;

  /// Memory of the host that kernels may use as well.
  void add_pinned(void* memory, std::size_t bytes);
  bool remove_pinned(void* memory);
  [[nodiscard]] bool is_pinned(const void* address, std::size_t bytes = 1) const;

 private:
  struct Piece {
    std::size_t pages;  ///< bytes of them
    std::size_t first;  ///< offset of the first byte that is used
  };

  DeviceMemory();
  [[nodiscard]] std::size_t place_for(std::size_t pages) const;

  std::uintptr_t device_ = 0;
  std::uint8_t* view_ = nullptr;
  std::uint8_t* state_ = nullptr;
  mutable std::mutex mutex_;
  std::map<std::size_t, Piece> pieces_;  ///< by the offset of their pages
  std::map<std::uintptr_t, std::size_t> pinned_;
};

}  // namespace cohom::ptx
