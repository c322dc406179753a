#pragma once
// DeviceWork: what the calls of one plan need of a device: streams of their own, one for kernels
// with their context and two for copies, and events that say how far they are.

#include "kernels/device_runtime/device_context.hpp"
#include "memory/memory.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace cohom {

/// The device of the calling thread for a while.
class CurrentDevice {
 public:
  CurrentDevice(kernels::DeviceRuntime& runtime, int device);
  ~CurrentDevice();
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  kernels::DeviceRuntime& runtime_;
  int before_;
};

/// One thread at a time. Functions want a DeviceWork::Use in the same thread.
class DeviceWork {
 public:
  /// Loads all kernels. @throws Error(unsupported) when the device runs none; kernels::DeviceError
  [[nodiscard]] static std::shared_ptr<DeviceWork> make(const kernels::DeviceLibrary& library,
                                                        int device);
  /// `device` is the calling thread's current one.
  DeviceWork(const kernels::DeviceLibrary& library, int device);
  ~DeviceWork();
  DeviceWork(const DeviceWork&) = delete;
  DeviceWork& operator=(const DeviceWork&) = delete;

  /// Makes the device and the context the calling thread's own for this scope.
  class Use {
   public:
    /// Null: does nothing.
    explicit Use(DeviceWork* work);

   private:
    std::optional<CurrentDevice> current_;
    std::optional<kernels::DeviceScope> scope_;
  };

  [[nodiscard]] int device() const { return device_; }
  [[nodiscard]] const kernels::KernelTable& kernels() const { return *library_.kernels; }
  [[nodiscard]] kernels::DeviceRuntime& runtime() const { return *library_.runtime; }
  /// Of kernels, and of copies from and to the host's memory, which overlap with them and each
  /// other.
  [[nodiscard]] kernels::DeviceStream stream() const { return stream_.get(); }
  [[nodiscard]] kernels::DeviceStream to_host() const { return to_host_.get(); }
  [[nodiscard]] kernels::DeviceStream from_host() const { return from_host_.get(); }
  [[nodiscard]] Memory& memory() const { return *memory_; }
  /// Pinned memory of the host, whose copies overlap with other work.
  [[nodiscard]] Memory& pinned() const { return *pinned_; }
  [[nodiscard]] kernels::DeviceContext& context() { return context_; }

  /// A mark in a stream behind all that was put into it so far.
  [[nodiscard]] kernels::DeviceEvent mark(kernels::DeviceStream stream);
  /// Whether the device has come to the mark.
  [[nodiscard]] bool reached(kernels::DeviceEvent mark) const { return runtime().done(mark); }
  /// Nobody waits for it any more.
  void forget(kernels::DeviceEvent mark) noexcept { idle_.push_back(mark); }

  /// What is put into `stream` from now on comes behind what `other` has so far.
  void let_follow(kernels::DeviceStream stream, kernels::DeviceStream other);
  /// Blocks until all streams are empty.
  void synchronise();

 private:
  struct StreamDeleter {
    kernels::DeviceRuntime* runtime;
    void operator()(kernels::DeviceStream stream) const { runtime->destroy_stream(stream); }
  };
  using Stream = std::unique_ptr<std::remove_pointer_t<kernels::DeviceStream>, StreamDeleter>;

  const kernels::DeviceLibrary& library_;
  int device_;
  Stream stream_, to_host_, from_host_;
  kernels::DeviceContext context_;
  std::unique_ptr<Memory> memory_, pinned_;
  std::vector<kernels::DeviceEvent> all_, idle_;
};

}  // namespace cohom
