// What a process has of a driver that it has loaded, as libcuda.so.1: it knows some memory, and is
// old.

#include "fake_driver.hpp"

#include <atomic>
#include <cstdint>

namespace {

std::atomic<std::uintptr_t> known = 0, known_bytes = 0;

}  // namespace

extern "C" {

void fake_driver_knows(const void* memory, std::size_t bytes) {
  known = reinterpret_cast<std::uintptr_t>(memory);
  known_bytes = bytes;
}

/// 1 is CUDA_ERROR_INVALID_VALUE; type 1 is memory of the host, as it may be of managed memory.
int cuPointerGetAttribute(void* value, int attribute, unsigned long long address) {
  if (attribute != 2 || address - known >= known_bytes) return 1;
  *static_cast<unsigned*>(value) = 1;
  return 0;
}

int cuDriverGetVersion(int* version) {
  *version = 11040;
  return 0;
}
}
