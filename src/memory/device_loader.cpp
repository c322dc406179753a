#include "memory/device_loader.hpp"

#include "base/environment.hpp"
#include "base/log.hpp"
#include "base/own_file.hpp"

#include <dlfcn.h>

#include <atomic>
#include <filesystem>
#include <mutex>

namespace cohom {

namespace {

struct Found {
  const kernels::DeviceLibrary* library = nullptr;
  std::string why = {};  ///< there is none
};

std::mutex mutex;
bool searched = false;
std::string why_none;
const kernels::DeviceLibrary* offered = nullptr;
std::atomic<const kernels::DeviceLibrary*> in_use = nullptr;

/// Where libraries are installed beside the folder of programs: on any system, and of this build,
/// which is all that a program knows that links cohom statically. An absolute folder stands for
/// itself.
constexpr const char* library_folders[] = {"",
                                           "../lib",
                                           "../lib64",
                                           "../lib/" COHOM_ARCHITECTURE,
                                           "../" COHOM_LIBDIR,
                                           COHOM_LIBDIR,
                                           COHOM_INSTALLED_LIBRARIES};

/// The first of these files that there is; a name without a folder is left to the system.
std::string file_beside_us() {
  std::error_code ignored;
  const auto own_folder = own_file().parent_path();
  for (const char* const folder : library_folders) {
    const auto file = (own_folder / folder / kernels::device_library_file).lexically_normal();
    // Never one below the current folder, which may be anybody's.
    if (file.is_absolute() && std::filesystem::exists(file, ignored)) return file.string();
  }
  return kernels::device_library_file;
}

/// Never closed: its kernels may be at work until the process ends.
Found load() {
  const std::string named = option_or_environment({}, "COHOM_CUDA_LIBRARY", "");
  const std::string file = named.empty() ? file_beside_us() : named;
  void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr && !named.empty())
    return {.why = std::string("COHOM_CUDA_LIBRARY: ") + dlerror()};
  if (handle == nullptr)
    return {.why = std::string(dlerror()) + " (looked in " + own_file().parent_path().string() +
                   ", in lib, lib64 and lib/" COHOM_ARCHITECTURE
                   " beside it, in " COHOM_INSTALLED_LIBRARIES
                   " and where the system looks; COHOM_CUDA_LIBRARY names another file)"};
  const auto entry_point = reinterpret_cast<kernels::DeviceLibraryEntryPoint>(
      dlsym(handle, kernels::device_library_entry_point));
  if (entry_point == nullptr) return {.why = file + " is not a library of cohom's kernels"};
  const char* why = nullptr;
  const kernels::DeviceLibrary* const library = entry_point(&why);
  if (library == nullptr) return {.why = file + ": " + (why != nullptr ? why : "no device")};
  if (library->version != kernels::device_library_version)
    return {.why = file + " is of another version of cohom"};
  log_once("device: " + file + ", " + std::string(library->runtime->name()));
  return {.library = library};
}

}  // namespace

const kernels::DeviceLibrary* loaded_device_library() { return in_use.load(); }

const kernels::DeviceLibrary* device_library() {
  if (const auto* const library = in_use.load()) return library;
  const std::lock_guard lock(mutex);
  if (searched) return in_use.load();
  searched = true;
  const Found found = offered != nullptr ? Found{.library = offered} : load();
  why_none = found.why;
  in_use = found.library;
  return found.library;
}

std::string why_no_device() {
  const std::lock_guard lock(mutex);
  return why_none;
}

void offer_device_library(const kernels::DeviceLibrary* library) {
  const std::lock_guard lock(mutex);
  searched = false;
  offered = library;
  in_use = nullptr;
}

void set_device_library(const kernels::DeviceLibrary* library, const std::string& why) {
  const std::lock_guard lock(mutex);
  searched = true;
  why_none = why;
  in_use = library;
}

}  // namespace cohom
