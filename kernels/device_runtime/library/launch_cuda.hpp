#pragma once
// launch() by CUDA (see phases.hpp).

#include "kernels/device_runtime/current_context.hpp"
#include "kernels/device_runtime/kernel_list.hpp"
#include "kernels/device_runtime/library/cuda_error.hpp"
#include "kernels/device_runtime/phases.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>

namespace cohom::kernels::device {

/// What a kernel reads and writes an address of the device by.
template <class T>
T* view(T* address) {
  return address;
}

template <Barrier barrier>
__device__ inline void wait_for_others() {
  if constexpr (barrier == Barrier::warp)
    __syncwarp();
  else
    __syncthreads();
}

/// The phases from `phase` up to `end`.
template <class K, int phase, int end>
__device__ inline void run_phases(const K& kernel, At at, typename K::Shared& shared,
                                  typename K::Local& local) {
  kernel.template run<phase>(at, shared, local);
  if constexpr (phase + 1 < end) {
    wait_for_others<K::barrier>();
    run_phases<K, phase + 1, end>(kernel, at, shared, local);
  }
}

template <class K>
__device__ inline void run_tile(const K& kernel, At at, typename K::Shared& shared,
                                typename K::Local& local) {
  if constexpr (RepeatedPhases<K>) {
    static_assert(K::barrier == Barrier::block, "all threads of a block go round together");
    run_phases<K, 0, K::repeated_from>(kernel, at, shared, local);
    bool again = true;
    while (again) {
      wait_for_others<K::barrier>();
      run_phases<K, K::repeated_from, K::phases>(kernel, at, shared, local);
      wait_for_others<K::barrier>();
      again = kernel.again(shared);
    }
  } else if constexpr (FixedPhases<K>) {
    run_phases<K, 0, K::phases>(kernel, at, shared, local);
  } else {
    for (int phase = 0; phase < kernel.phase_count(); ++phase) {
      if (phase != 0) wait_for_others<K::barrier>();
      kernel.run(phase, at, shared, local);
    }
  }
}

template <Kernel K>
__global__ void __launch_bounds__(K::threads) run_kernel(const __grid_constant__ K kernel) {
  __shared__ typename K::Shared shared;
  bool first = true;
  for (std::size_t tile = blockIdx.x; tile < kernel.tiles; tile += gridDim.x) {
    if (!first) wait_for_others<K::barrier>();  // others may still read what this tile writes
    first = false;
    typename K::Local local;
    run_tile(kernel, At{tile, threadIdx.x}, shared, local);
  }
}

/// Blocks that the device works on at once.
template <Kernel K>
std::size_t blocks_at_once() {
  thread_local int device = -1;
  thread_local std::size_t blocks = 0;
  int now = 0;
  check_cuda(cudaGetDevice(&now), "cudaGetDevice");
  if (device == now) return blocks;
  int of_one = 0, processors = 0;
  check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&of_one, run_kernel<K>, K::threads, 0),
             "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  check_cuda(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, now),
             "cudaDeviceGetAttribute");
  blocks = std::size_t(std::max(of_one, 1)) * std::size_t(processors);
  device = now;
  return blocks;
}

/// To ask for a kernel's attributes loads it (CUDA C++ Programming Guide, "Lazy Loading").
template <Kernel K>
void load_kernel() {
  cudaFuncAttributes ignored;
  check_cuda(cudaFuncGetAttributes(&ignored, run_kernel<K>), "cudaFuncGetAttributes");
}

template <Kernel K>
inline const bool listed = list_kernel(load_kernel<K>);

template <Kernel K>
void launch(const K& kernel) {
  [[maybe_unused]] const bool is_listed = listed<K>;
  if (kernel.tiles == 0) return;
  const auto blocks = static_cast<unsigned>(std::min(kernel.tiles, blocks_at_once<K>()));
  run_kernel<K><<<blocks, K::threads, 0, cuda_stream(current_context().stream())>>>(kernel);
  check_cuda(cudaGetLastError(), "launch of a kernel");
}

}  // namespace cohom::kernels::device
