// What the host's half of a kernel calls: registration when the library is loaded, and launches.

#include "device_state.hpp"
#include "fat_binary.hpp"
#include "loaded_kernels.hpp"
#include "ptx/complaint.hpp"
#include "ptx/fault.hpp"
#include "ptx/launch.hpp"
#include "streams.hpp"

#include <cuda_runtime_api.h>

#include <cstdio>
#include <utility>
#include <vector>

namespace cohom::ptx {
namespace {

/// As nvcc lays it out.
struct FatBinaryWrapper {
  int magic, version;
  const std::uint8_t* data;
  void* unused;
};

struct Configuration {
  dim3 grid, block;
  std::size_t shared;
  cudaStream_t stream;
};
thread_local std::vector<Configuration> configurations;

bool is_modelled(const Configuration& asked) {
  const auto is_flat = [](dim3 shape) { return shape.y == 1 && shape.z == 1 && shape.x != 0; };
  return is_flat(asked.grid) && is_flat(asked.block) && asked.block.x <= 1024 && asked.shared == 0;
}

void run_kernel(Kernel& kernel, LaunchShape shape, const std::vector<std::uint8_t>& parameters) {
  if (is_broken()) return;
  try {
    launch(kernel, shape, parameters);
  } catch (const MisalignedFault& fault) {
    complain_of_fault(kernel, fault.what());
    break_device(cudaErrorMisalignedAddress);
  } catch (const Fault& fault) {
    complain_of_fault(kernel, fault.what());
    break_device(cudaErrorIllegalAddress);
  }
}

cudaError_t enqueue(const void* host_function, const Configuration& asked, void** arguments) {
  const DeviceLock lock;
  const auto stream = Streams::instance().find(reinterpret_cast<Streams::Handle>(asked.stream));
  if (!stream) return told(cudaErrorInvalidResourceHandle);
  if (!is_modelled(asked)) return told(cudaErrorInvalidConfiguration);
  Kernel* kernel = nullptr;
  try {
    kernel = LoadedKernels::instance().find(host_function);
  } catch (const Fault& fault) {
    std::fprintf(stderr, "PTX: a kernel that cannot be read: %s\n", fault.what());
  }
  if (kernel == nullptr) return told(cudaErrorInvalidDeviceFunction);
  if (asked.block.x > kernel->max_threads) return told(cudaErrorInvalidConfiguration);
  stream->note_kernel();
  Streams::instance().put(stream, [kernel, shape = LaunchShape{asked.grid.x, asked.block.x},
                                   parameters = gather_parameters(*kernel, arguments)] {
    run_kernel(*kernel, shape, parameters);
  });
  return told(cudaSuccess);
}

}  // namespace
}  // namespace cohom::ptx

using cohom::ptx::Configuration;
using cohom::ptx::LoadedKernels;

// NOLINTBEGIN(bugprone-reserved-identifier): the names that nvcc calls.
extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  auto [text, architecture] =
      cohom::ptx::embedded_ptx(static_cast<cohom::ptx::FatBinaryWrapper*>(wrapper)->data);
  return reinterpret_cast<void**>(
      &LoadedKernels::instance().add_module(std::move(text), architecture));
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 0; }
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
void __cudaRegisterFunction(void** module, const char* host_function, char*, const char* name, int,
                            uint3*, uint3*, dim3*, dim3*, int*) {
  LoadedKernels::instance().add_kernel(host_function,
                                       *reinterpret_cast<cohom::ptx::Module*>(module), name);
}

cudaError_t __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void* stream) {
  cohom::ptx::configurations.push_back({grid, block, shared, static_cast<cudaStream_t>(stream)});
  return cudaSuccess;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  const Configuration last = cohom::ptx::configurations.back();
  cohom::ptx::configurations.pop_back();
  *grid = last.grid;
  *block = last.block;
  *shared = last.shared;
  *static_cast<cudaStream_t*>(stream) = last.stream;
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(host_function));
  return LoadedKernels::instance().contains(host_function) ? cudaSuccess
                                                           : cudaErrorInvalidDeviceFunction;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               size_t shared, cudaStream_t stream) {
  return cohom::ptx::enqueue(kernel, {grid, block, shared, stream}, arguments);
}
cudaError_t cudaLaunchKernel(const void* host_function, dim3 grid, dim3 block, void** arguments,
                             size_t shared, cudaStream_t stream) {
  return cohom::ptx::enqueue(host_function, {grid, block, shared, stream}, arguments);
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier)
