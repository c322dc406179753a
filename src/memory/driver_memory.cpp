#include "memory/driver_memory.hpp"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cohom {

namespace {

/// cuPointerGetAttribute. It wants no context, and where nobody has started the driver it says so.
using PointerAttribute = int (*)(void* value, int attribute, unsigned long long address);
constexpr int memory_type = 2;

/// Counts the libraries that the process has loaded, ever.
unsigned long long libraries_loaded() {
  unsigned long long count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        *static_cast<unsigned long long*>(result) = info->dlpi_adds;
        return 1;  // the first one has the number
      },
      &count);
  return count;
}

/// The file of libcuda.so.1 or its like, if it is loaded.
std::string driver_file() {
  std::string file;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        const std::string_view name = info->dlpi_name;
        if (!name.substr(name.rfind('/') + 1).starts_with("libcuda.so")) return 0;
        *static_cast<std::string*>(result) = name;
        return 1;
      },
      &file);
  return file;
}

PointerAttribute find_driver() {
  const std::string file = driver_file();
  if (file.empty()) return nullptr;
  void* const driver = dlopen(file.c_str(), RTLD_NOW | RTLD_NOLOAD);  // and it stays
  if (driver == nullptr) return nullptr;
  return reinterpret_cast<PointerAttribute>(dlsym(driver, "cuPointerGetAttribute"));
}

/// Null where none is loaded.
PointerAttribute loaded_driver() {
  static std::atomic<PointerAttribute> driver = nullptr;
  static std::atomic<unsigned long long> looked_at = 0;  // so many libraries
  PointerAttribute attribute = driver;
  if (attribute != nullptr) return attribute;
  const unsigned long long loaded = libraries_loaded();
  if (loaded == looked_at) return nullptr;
  driver = attribute = find_driver();
  looked_at = loaded;
  return attribute;
}

}  // namespace

bool driver_is_loaded() { return loaded_driver() != nullptr; }

bool driver_knows(const void* address) {
  const PointerAttribute attribute = loaded_driver();
  if (attribute == nullptr) return false;
  unsigned type = 0;
  return attribute(&type, memory_type, reinterpret_cast<std::uintptr_t>(address)) == 0;
}

}  // namespace cohom
