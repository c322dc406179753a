#pragma once
// What kernels of a device work with besides their arguments: a stream, scratch memory, and pinned memory on
// the way between host and device.

#include "kernels/cuda/device_library.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace cohom::kernels {

/// Of one thread at a time, and of the device that was current when it was made.
class DeviceContext {
 public:
  /// @param stream outlives the context; null: the default stream
  /// @throws DeviceError when there is no memory
  DeviceContext(const DeviceLibrary& library, DeviceStream stream);
  ~DeviceContext();
  DeviceContext(const DeviceContext&) = delete;
  DeviceContext& operator=(const DeviceContext&) = delete;

  /// Takes the memory beforehand that calls on runs of at most so many elements need. Calls on longer ones
  /// take more when they come.
  void reserve(std::size_t elements);

  [[nodiscard]] const DeviceLibrary& library() const { return library_; }
  [[nodiscard]] DeviceRuntime& runtime() const { return *library_.runtime; }
  [[nodiscard]] DeviceStream stream() const { return stream_; }
  void synchronise() { runtime().synchronise(stream_); }

  /// What follows is for kernels. A call of a kernel row begins by giving back the scratch of the one before:
  /// the stream keeps their work apart.
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
  struct Empty {};
  DeviceContext(const DeviceLibrary& library, DeviceStream stream, Empty)
      : library_(library), stream_(stream) {}
  [[nodiscard]] std::byte* staging(std::size_t bytes);
  void grow_staging(std::size_t half);
  void grow_results(std::size_t bytes);
  void grow_scratch(std::size_t bytes);
  void release_scratch() noexcept;

  const DeviceLibrary& library_;
  DeviceStream stream_;
  std::vector<Block> scratch_;  ///< one, unless a call needed more; none where there was no memory
  std::size_t scratch_used_ = 0;

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
