#pragma once
// What is needed of a device's driver, without naming one: memory, copies, streams, events.
// Implemented by CUDA and, for tests, by a device that is emulated in the host's memory.

#include <cohom/error.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cohom::kernels {

/// Opaque. In CUDA a cudaStream_t, where null is the default stream, and a cudaEvent_t.
using DeviceStream = struct DeviceStreamObject*;
using DeviceEvent = struct DeviceEventObject*;

/// Null, and CUDA's names of the two default streams.
inline bool is_default_stream(DeviceStream stream) {
  return reinterpret_cast<std::uintptr_t>(stream) <= 2;
}

/// Where an address points. Managed memory counts as device memory.
enum class PointerKind : std::uint8_t { host, pinned, device };

struct PointerLocation {
  PointerKind kind = PointerKind::host;
  int device = -1;  ///< whose memory it is, or -1
};

/// What a device can run, as CUDA counts it.
struct ComputeCapability {
  int major = 0, minor = 0;
  friend auto operator<=>(const ComputeCapability&, const ComputeCapability&) = default;
};

/// What a driver reported; what() names the call. After a sticky error no call on the device
/// succeeds until the process ends.
class DeviceError : public Error {
 public:
  DeviceError(ErrorKind kind, const std::string& message, bool is_sticky)
      : Error(kind, message), sticky_(is_sticky) {}
  [[nodiscard]] bool sticky() const noexcept { return sticky_; }

 private:
  bool sticky_;
};

/// Any thread may call it. Where nothing else is said, calls work on the calling thread's current
/// device and throw DeviceError: ErrorKind::memory when memory is short, else ErrorKind::transport.
/// Nothing exits.
class DeviceRuntime {
 public:
  DeviceRuntime() = default;
  DeviceRuntime(const DeviceRuntime&) = delete;
  DeviceRuntime& operator=(const DeviceRuntime&) = delete;
  virtual ~DeviceRuntime() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;  ///< "cuda" or "emulated"
  /// Of the driver, and of what the library was built with, in words.
  [[nodiscard]] virtual std::string versions() const = 0;
  [[nodiscard]] virtual int devices() const = 0;
  [[nodiscard]] virtual std::string device_name(int device) const = 0;
  [[nodiscard]] virtual ComputeCapability capability(int device) const = 0;
  [[nodiscard]] virtual int current_device() const = 0;
  virtual void set_device(int device) = 0;

  /// At least 256-byte aligned, what is in it is undefined. Never null; 0 bytes are 1.
  [[nodiscard]] virtual void* allocate(std::size_t bytes) = 0;
  /// Work that uses the memory must be done. Null is nothing.
  virtual void free(void* memory) noexcept = 0;
  [[nodiscard]] virtual void* allocate_pinned(std::size_t bytes) = 0;
  virtual void free_pinned(void* memory) noexcept = 0;

  /// In the order of the stream. With pinned memory on the host's side they return at once; with
  /// other memory the host's bytes are read, or there, when they return.
  virtual void copy_to_device(void* device, const void* host, std::size_t bytes,
                              DeviceStream stream) = 0;
  virtual void copy_to_host(void* host, const void* device, std::size_t bytes,
                            DeviceStream stream) = 0;
  /// Nothing overlaps. Either side may be pinned memory.
  virtual void copy_within(void* to, const void* from, std::size_t bytes, DeviceStream stream) = 0;
  virtual void fill(void* device, std::uint8_t byte, std::size_t bytes, DeviceStream stream) = 0;

  [[nodiscard]] virtual DeviceStream make_stream() = 0;
  virtual void destroy_stream(DeviceStream stream) noexcept = 0;
  /// Blocks until all that was put into the stream is done.
  virtual void synchronise(DeviceStream stream) = 0;
  /// The same for all streams of the current device.
  virtual void synchronise_device() = 0;

  [[nodiscard]] virtual DeviceEvent make_event() = 0;
  virtual void destroy_event(DeviceEvent event) noexcept = 0;
  virtual void record(DeviceEvent event, DeviceStream stream) = 0;
  /// Whether what was in the stream at the last record() is done; true for one never recorded.
  [[nodiscard]] virtual bool done(DeviceEvent event) = 0;
  virtual void wait(DeviceEvent event) = 0;  ///< blocks until done()
  /// What is put into the stream from now on waits until the event is done; the caller does not.
  virtual void let_wait(DeviceStream stream, DeviceEvent event) = 0;

  /// Local, and no error for any address.
  [[nodiscard]] virtual PointerLocation location_of(const void* address) const = 0;
  /// Whether the stream records a graph instead of working. Nothing may be synchronised then.
  [[nodiscard]] virtual bool capturing(DeviceStream stream) const = 0;
  /// Whether one records a graph that the current device's default streams have to do with. That is
  /// all that CUDA tells: of a stream made with cudaStreamNonBlocking only a call says that it
  /// refuses, and by that the capture has ended. Such calls throw ErrorKind::unsupported.
  [[nodiscard]] virtual bool capturing_here() const = 0;
  /// Whether the stream is the current device's. Not of one under capture.
  [[nodiscard]] virtual bool has(DeviceStream stream) = 0;
  /// What a kernel or copy that already returned has failed with since; throws it. Else does
  /// nothing.
  virtual void check() = 0;
};

}  // namespace cohom::kernels
