#include "kernels/device_runtime/library/cuda_runtime_device.hpp"

#include "kernels/device_runtime/library/cuda_error.hpp"

#include <algorithm>
#include <source_location>
#include <string>

namespace cohom::kernels::device {
namespace {

/// As check_cuda(), and says how much was asked for, and which device was the thread's.
void check_allocation(cudaError_t result, const char* call, std::size_t bytes,
                      std::source_location where = std::source_location::current()) {
  if (result == cudaSuccess) return;
  int device = -1;
  static_cast<void>(cudaGetDevice(&device));
  const std::string what = std::string(call) + " of " + std::to_string(bytes) +
                           " bytes with device " + std::to_string(device);
  check_cuda(result, what.c_str(), where);
}

class CudaRuntime final : public DeviceRuntime {
 public:
  [[nodiscard]] std::string_view name() const override { return "cuda"; }
  [[nodiscard]] std::string versions() const override { return cuda_versions(); }
  [[nodiscard]] int devices() const override {
    int count = 0;
    check_cuda(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
    return count;
  }
  [[nodiscard]] std::string device_name(int device) const override {
    cudaDeviceProp properties;
    check_cuda(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
    return properties.name;
  }
  [[nodiscard]] ComputeCapability capability(int device) const override {
    ComputeCapability found;
    check_cuda(cudaDeviceGetAttribute(&found.major, cudaDevAttrComputeCapabilityMajor, device),
               "cudaDeviceGetAttribute");
    check_cuda(cudaDeviceGetAttribute(&found.minor, cudaDevAttrComputeCapabilityMinor, device),
               "cudaDeviceGetAttribute");
    return found;
  }
  [[nodiscard]] int current_device() const override {
    int device = 0;
    check_cuda(cudaGetDevice(&device), "cudaGetDevice");
    return device;
  }
  void set_device(int device) override { check_cuda(cudaSetDevice(device), "cudaSetDevice"); }

  [[nodiscard]] void* allocate(std::size_t bytes) override {
    void* memory = nullptr;
    check_allocation(cudaMalloc(&memory, std::max<std::size_t>(bytes, 1)), "cudaMalloc", bytes);
    return memory;
  }
  void free(void* memory) noexcept override { static_cast<void>(cudaFree(memory)); }
  [[nodiscard]] void* allocate_pinned(std::size_t bytes) override {
    void* memory = nullptr;
    check_allocation(cudaHostAlloc(&memory, std::max<std::size_t>(bytes, 1), cudaHostAllocPortable),
                     "cudaHostAlloc", bytes);
    return memory;
  }
  void free_pinned(void* memory) noexcept override { static_cast<void>(cudaFreeHost(memory)); }

  void copy_to_device(void* device, const void* host, std::size_t bytes,
                      DeviceStream stream) override {
    copy(device, host, bytes, stream);
  }
  void copy_to_host(void* host, const void* device, std::size_t bytes,
                    DeviceStream stream) override {
    copy(host, device, bytes, stream);
  }
  void copy_within(void* to, const void* from, std::size_t bytes, DeviceStream stream) override {
    copy(to, from, bytes, stream);
  }
  void fill(void* device, std::uint8_t byte, std::size_t bytes, DeviceStream stream) override {
    check_cuda(cudaMemsetAsync(device, byte, bytes, cuda_stream(stream)), "cudaMemsetAsync");
  }

  [[nodiscard]] DeviceStream make_stream() override {
    cudaStream_t stream = nullptr;
    check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
               "cudaStreamCreateWithFlags");
    return reinterpret_cast<DeviceStream>(stream);
  }
  void destroy_stream(DeviceStream stream) noexcept override {
    if (stream != nullptr) static_cast<void>(cudaStreamDestroy(cuda_stream(stream)));
  }
  void synchronise(DeviceStream stream) override {
    check_cuda(cudaStreamSynchronize(cuda_stream(stream)), "cudaStreamSynchronize");
  }
  void synchronise_device() override {
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }

  [[nodiscard]] DeviceEvent make_event() override {
    cudaEvent_t event = nullptr;
    check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming),
               "cudaEventCreateWithFlags");
    return reinterpret_cast<DeviceEvent>(event);
  }
  void destroy_event(DeviceEvent event) noexcept override {
    if (event != nullptr) static_cast<void>(cudaEventDestroy(cuda_event(event)));
  }
  void record(DeviceEvent event, DeviceStream stream) override {
    check_cuda(cudaEventRecord(cuda_event(event), cuda_stream(stream)), "cudaEventRecord");
  }
  [[nodiscard]] bool done(DeviceEvent event) override {
    const cudaError_t result = cudaEventQuery(cuda_event(event));
    if (result == cudaErrorNotReady) {
      static_cast<void>(cudaGetLastError());
      return false;
    }
    check_cuda(result, "cudaEventQuery");
    return true;
  }
  void wait(DeviceEvent event) override {
    check_cuda(cudaEventSynchronize(cuda_event(event)), "cudaEventSynchronize");
  }
  void let_wait(DeviceStream stream, DeviceEvent event) override {
    check_cuda(cudaStreamWaitEvent(cuda_stream(stream), cuda_event(event), 0),
               "cudaStreamWaitEvent");
  }

  [[nodiscard]] PointerLocation location_of(const void* address) const override {
    cudaPointerAttributes found;
    if (cudaPointerGetAttributes(&found, address) != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
      return {};
    }
    switch (found.type) {
      case cudaMemoryTypeDevice:
      case cudaMemoryTypeManaged: return {PointerKind::device, found.device};
      case cudaMemoryTypeHost: return {PointerKind::pinned, found.device};
      default: return {};
    }
  }
  [[nodiscard]] bool capturing(DeviceStream stream) const override {
    return captures(cuda_stream(stream));
  }
  [[nodiscard]] bool capturing_here() const override {
    return captures(cudaStreamLegacy) || captures(cudaStreamPerThread);
  }
  /// No event of a device marks another one's stream. Asked for, the event says whether the thread
  /// may ask at all, or captures.
  [[nodiscard]] bool has(DeviceStream stream) override {
    const DeviceEvent event = make_event();
    const cudaError_t recorded = cudaEventRecord(cuda_event(event), cuda_stream(stream));
    const cudaError_t asked =
        recorded == cudaSuccess ? cudaEventQuery(cuda_event(event)) : recorded;
    destroy_event(event);
    if (asked != cudaSuccess) static_cast<void>(cudaGetLastError());
    if (asked == cudaErrorInvalidResourceHandle || asked == cudaErrorInvalidValue) return false;
    if (asked != cudaErrorNotReady) check_cuda(asked, "cudaEventRecord");
    return true;
  }
  void check() override { check_cuda(cudaGetLastError(), "an earlier call"); }

 private:
  /// The legacy default stream says so of all that wait for it, and does not end their capture.
  static bool captures(cudaStream_t stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    const cudaError_t result = cudaStreamIsCapturing(stream, &status);
    if (result == cudaErrorStreamCaptureImplicit) {
      static_cast<void>(cudaGetLastError());
      return true;
    }
    check_cuda(result, "cudaStreamIsCapturing");
    return status != cudaStreamCaptureStatusNone;
  }
  static void copy(void* to, const void* from, std::size_t bytes, DeviceStream stream) {
    if (bytes == 0) return;
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, cuda_stream(stream)),
               "cudaMemcpyAsync");
  }
};

}  // namespace

DeviceRuntime& cuda_device_runtime() {
  static CudaRuntime runtime;
  return runtime;
}

const char* why_no_cuda_device() {
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result == cudaSuccess && count > 0) return nullptr;
  static_cast<void>(cudaGetLastError());
  const std::string text = result == cudaErrorInsufficientDriver ? ""  // the versions say it
                           : result == cudaSuccess               ? "CUDA finds no device; "
                                                   : std::string(cudaGetErrorString(result)) + "; ";
  static const std::string why = text + cuda_versions();  // stays for whoever asked
  return why.c_str();
}

}  // namespace cohom::kernels::device
