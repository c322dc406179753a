#pragma once
// Loads a driver that is none into the process, for good.

#include <dlfcn.h>

#include <cstddef>
#include <stdexcept>
#include <string>

extern "C" {
/// The driver's own: it knows this memory from now on, and no other.
using FakeDriverKnows = void (*)(const void* memory, std::size_t bytes);
}

namespace cohom::test {

inline FakeDriverKnows load_fake_driver(const char* file) {
  void* const driver = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) throw std::runtime_error(dlerror());
  return reinterpret_cast<FakeDriverKnows>(dlsym(driver, "fake_driver_knows"));
}

}  // namespace cohom::test
