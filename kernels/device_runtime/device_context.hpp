#pragma once
// What kernels of a device work with besides their arguments: a stream, scratch memory, and pinned
// memory on the way between host and device.

#include "kernels/device_runtime/device_library.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace cohom::kernels {

/// Of one thread at a time, and of the device that was current when it was made.
class DeviceContext {
 public:
  /// Takes no memory. @param stream outlives the context; null: the default stream
  DeviceContext(const DeviceLibrary& library, DeviceStream stream)
      : library_(library), stream_(stream) {}
  ~DeviceContext();
  DeviceContext(const DeviceContext&) = delete;
  DeviceContext& operator=(const DeviceContext&) = delete;

  /// Takes the memory that calls on runs of at most so many elements need, and so many bytes of
  /// scratch besides. Once, before the first call. Without it calls take some when they come:
  /// pinned memory, for which a device is waited for, in the first one only, and scratch whenever
  /// one needs more than all before. Nothing is given back before the context goes, so calls never
  /// wait for a device to do so.
  /// @throws DeviceError when there is no memory
  void reserve(std::size_t elements, std::size_t more_scratch = 0);

  [[nodiscard]] const DeviceLibrary& library() const { return library_; }
  [[nodiscard]] DeviceRuntime& runtime() const { return *library_.runtime; }
  [[nodiscard]] DeviceStream stream() const { return stream_; }
  void synchronise() { runtime().synchronise(stream_); }

  /// What follows is for kernels. A call of a kernel row begins by giving back the scratch of the
  /// one before: the stream keeps their work apart.
  void begin_call();
  /// Device memory until the next begin_call(), aligned to 256 bytes.
  [[nodiscard]] void* scratch(std::size_t bytes);
  /// Scratch with a copy of what the host has, which may change at once.
  [[nodiscard]] const void* upload(const void* host, std::size_t bytes);
  /// Waits for the stream, and for these bytes of the device.
  void download(void* host, const void* device, std::size_t bytes);

 private:
  struct Block {
    void* memory = nullptr;
    std::size_t bytes = 0;
  };
  [[nodiscard]] std::byte* staging(std::size_t bytes);
  void take_scratch(std::size_t bytes);
  void take_pinned(std::size_t elements);

  const DeviceLibrary& library_;
  DeviceStream stream_;
  /// The last one is used, which has more room than those before it. The device may still work on
  /// these.
  std::vector<Block> scratch_;
  std::size_t scratch_used_ = 0;  ///< of the last one

  // Pinned, in two halves: one is filled while the device may still read the other.
  Block staging_;
  std::size_t staging_used_ = 0;
  int half_ = 0;
  DeviceEvent read_[2] = {};  ///< by half: the device has read it
  Block results_;             ///< pinned, on the way back
};

/// Makes a context the calling thread's, for all kernels that it calls in this scope.
class DeviceScope {
 public:
  explicit DeviceScope(DeviceContext& context)
      : library_(context.library()), before_(library_.enter(&context)) {}
  ~DeviceScope() { library_.enter(before_); }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  const DeviceLibrary& library_;
  DeviceContext* before_;
};

}  // namespace cohom::kernels
