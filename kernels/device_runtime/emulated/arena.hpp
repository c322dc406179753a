#pragma once
// The memory of the emulated device: one piece of memory that is mapped twice. At its device
// addresses every access faults, as on a device that the host cannot reach. What kernels and copies
// may touch they touch through the other mapping, a fixed distance away, where all that is not
// allocated faults as well.

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace cohom::kernels::device {

class Arena {
 public:
  /// Of the process, made at the first use.
  static Arena& instance();

  /// Device address of so many bytes, on pages of their own, of which the last ones are used: what
  /// lies behind them faults at once. Null when the capacity is used up. They hold no zeros.
  void* allocate(std::size_t bytes, int device);
  /// False for an address that allocate() did not return.
  bool free(void* memory);
  /// Bytes that may be allocated at a time.
  void set_capacity(std::size_t bytes);
  [[nodiscard]] std::size_t allocated() const;

  /// Whether it is an address of the device's, allocated or not.
  [[nodiscard]] bool holds(const void* address) const {
    return reinterpret_cast<std::uintptr_t>(address) - device_ < size;
  }
  /// The device whose memory an address is in; -1 when it is not allocated.
  [[nodiscard]] int device_of(const void* address) const;

  /// Where kernels find an address: elsewhere if it is the device's, else where it is.
  [[nodiscard]] void* view(const void* address) const {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    return reinterpret_cast<void*>(holds(address) ? at - device_ + view_ : at);
  }

 private:
  static constexpr std::size_t size = std::size_t{8} << 30;  // of addresses; pages come when used

  struct Piece {
    std::size_t pages, bytes;  ///< bytes of pages, and used ones at their end
    int device;
  };

  Arena();
  [[nodiscard]] std::size_t place_for(std::size_t pages) const;

  std::uintptr_t device_ = 0, view_ = 0;
  int file_ = -1;
  mutable std::mutex mutex_;
  std::map<std::size_t, Piece> pieces_;  ///< by the offset of their pages
  std::size_t allocated_ = 0;
  std::size_t capacity_ = size / 2;
};

}  // namespace cohom::kernels::device
