#pragma once
// launch() on the host (see phases.hpp): loops over tiles, phases and threads.

#include "kernels/device_runtime/current_context.hpp"
#include "kernels/device_runtime/emulated/arena.hpp"
#include "kernels/device_runtime/emulated/emulated_runtime.hpp"
#include "kernels/device_runtime/kernel_list.hpp"
#include "kernels/device_runtime/phases.hpp"

#include <atomic>
#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace cohom::kernels::device {

/// What a kernel reads and writes an address of the device by.
template <class T>
T* view(T* address) {
  return static_cast<T*>(Arena::instance().view(address));
}

/// Nobody may count on an order of threads, so tiles, phases and rounds take turns with two.
template <class Run>
void for_all_threads(unsigned threads, bool odd, Run run) {
  for (unsigned t = 0; t < threads; ++t) run(odd ? threads - 1 - t : t);
}

/// The phases from `first` on, so many, for the time of that number that the tile comes to them.
template <int first, int count, Kernel K>
void run_phases(const K& kernel, std::size_t tile, std::size_t round, typename K::Shared& shared,
                typename K::Local* locals) {
  [&]<int... phase>(std::integer_sequence<int, phase...>) {
    (for_all_threads(K::threads, (tile + round + first + phase) % 2 != 0,
                     [&](unsigned t) {
                       kernel.template run<first + phase>(At{tile, t}, shared, locals[t]);
                     }),
     ...);
  }
  (std::make_integer_sequence<int, count>());
}

template <Kernel K>
void run_tile(const K& kernel, std::size_t tile, typename K::Shared& shared,
              typename K::Local* locals) {
  if constexpr (RepeatedPhases<K>) {
    static_assert(K::barrier == Barrier::block, "all threads of a block go round together");
    constexpr int repeated = K::phases - K::repeated_from;
    run_phases<0, K::repeated_from>(kernel, tile, 0, shared, locals);
    std::size_t round = 0;
    do run_phases<K::repeated_from, repeated>(kernel, tile, round++, shared, locals);
    while (kernel.again(shared));
  } else if constexpr (FixedPhases<K>) {
    run_phases<0, K::phases>(kernel, tile, 0, shared, locals);
  } else {
    for (int phase = 0; phase < kernel.phase_count(); ++phase)
      for_all_threads(K::threads, (tile + std::size_t(phase)) % 2 != 0, [&](unsigned t) {
        kernel.run(phase, At{tile, t}, shared, locals[t]);
      });
  }
}

/// As on a device, nothing is known of shared memory and registers when a tile begins.
template <class T>
void forget(T* memory, std::size_t count) {
  if constexpr (!std::is_empty_v<T>)
    std::memset(static_cast<void*>(memory), 0xcd, count * sizeof(T));
}

template <Kernel K>
void run_kernel(const K& kernel) {
  using Shared = typename K::Shared;
  using Local = typename K::Local;
  static_assert(sizeof(Shared) <= 48 * 1024, "more shared memory than every device gives a block");
  static_assert(std::is_trivially_copyable_v<Shared> && std::is_trivially_copyable_v<Local>);
  const auto shared = std::make_unique<Shared>();
  std::vector<Local> locals(K::threads);
  for (std::size_t tile = 0; tile < kernel.tiles; ++tile) {
    forget(shared.get(), 1);
    forget(locals.data(), locals.size());
    run_tile(kernel, tile, *shared, locals.data());
  }
}

/// The life of the emulated device that a kernel was last loaded in, by device.
template <Kernel K>
inline std::atomic<unsigned> loaded_in[emulated::devices] = {};

template <Kernel K>
void load_kernel() {
  loaded_in<K>[current_device()] = life();
}

template <Kernel K>
inline const bool listed = list_kernel(load_kernel<K>);

/// As CUDA may, the first launch waits for the device.
template <Kernel K>
void launch(const K& kernel) {
  [[maybe_unused]] const bool is_listed = listed<K>;
  if (kernel.tiles == 0) return;
  if (loaded_in<K>[current_device()] != life()) {
    wait_for_all();
    load_kernel<K>();
  }
  enqueue(current_context().stream(), [kernel] { run_kernel(kernel); });
}

}  // namespace cohom::kernels::device
