#include "tested_tables.hpp"

#include "host_called.hpp"
#include "kernels/device_runtime/emulated/emulated_runtime.hpp"

#include <dlfcn.h>

#include <cstdlib>

namespace cohom::test {
namespace {

/// Where this build has put its library, or what COHOM_CUDA_LIBRARY says.
const char* library_path() {
  const char* const named = std::getenv("COHOM_CUDA_LIBRARY");
#if defined(COHOM_BUILT_CUDA_LIBRARY)
  return named != nullptr ? named : COHOM_BUILT_CUDA_LIBRARY;
#else
  return named;
#endif
}

struct OwnDevice {
  const kernels::DeviceLibrary* library = nullptr;
  std::string why;

  OwnDevice() {
    const char* const path = library_path();
    if (path == nullptr) {
      why = "this build has no kernels for CUDA (COHOM_CUDA)";
      return;
    }
    void* const handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      why = dlerror();
      return;
    }
    const auto entry_point = reinterpret_cast<kernels::DeviceLibraryEntryPoint>(
        dlsym(handle, kernels::device_library_entry_point));
    const char* reason = "its entry point is missing";
    library = entry_point == nullptr ? nullptr : entry_point(&reason);
    if (library == nullptr) why = reason;
  }

  static const OwnDevice& instance() {
    static const OwnDevice device;
    return device;
  }
};

}  // namespace

std::vector<TestedTable> tested_tables() {
  std::vector<TestedTable> all;
  for (const kernels::Isa isa : kernels::supported_isas())
    all.push_back({std::string(name_of(isa)), &kernels::kernel_table(isa)});
  all.push_back({"emulated", &host_called_emulated(kernels::emulated_device())});
  if (OwnDevice::instance().library != nullptr)
    all.push_back({"cuda", &host_called_cuda(*OwnDevice::instance().library)});
  return all;
}

std::vector<TestedTable> tables_beside_reference() {
  auto all = tested_tables();
  all.erase(all.begin());
  return all;
}

const std::string& why_no_device() { return OwnDevice::instance().why; }

}  // namespace cohom::test
