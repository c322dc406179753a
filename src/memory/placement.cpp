#include "memory/placement.hpp"

#include "base/log.hpp"
#include "memory/device_loader.hpp"
#include "memory/driver_memory.hpp"

#include <fmt/format.h>

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>

namespace cohom {

namespace {

/// Asks the kernel, which refuses to read a set of signals from where there is nothing to read,
/// before it refuses the senseless request itself. Costs a tenth of a microsecond and cannot be
/// forbidden.
bool processor_can_read(const void* address) {
  const auto word = reinterpret_cast<std::uintptr_t>(address) / 8 * 8;
  const int saved = errno;
  const long result = syscall(SYS_rt_sigprocmask, ~0, word, nullptr, 8);
  const bool readable = result == 0 || errno != EFAULT;
  errno = saved;
  return readable;
}

/// The same, of pages that were readable when an earlier call asked: a program that reduces the
/// same buffers again and again pays for no system call.
class ReadablePages {
 public:
  static bool can_read(const void* address) {
    // Zero is no page: nobody knew it.
    const auto page = reinterpret_cast<std::uintptr_t>(address) / page_bytes + 1;
    std::atomic<std::uintptr_t>& known = known_[page % known_.size()];
    if (known.load(std::memory_order_relaxed) == page) return true;
    if (!processor_can_read(address)) return false;
    known.store(page, std::memory_order_relaxed);
    return true;
  }

 private:
  static constexpr std::uintptr_t page_bytes = 4096;
  static inline constinit std::array<std::atomic<std::uintptr_t>, 64> known_{};
};

kernels::PointerLocation location_of(const void* buffer, const char* name) {
  if (buffer == nullptr) return {};
  const kernels::DeviceLibrary* library = loaded_device_library();
  if (library == nullptr && ReadablePages::can_read(buffer)) {
    if (!driver_knows(buffer)) return {};
    library = device_library();
    if (library == nullptr) {
      log_once("a CUDA driver knows buffers of calls that run on the host, which can read them: " +
               why_no_device());
      return {};
    }
  }
  if (library == nullptr) library = device_library();
  if (library == nullptr)
    throw Error(
        ErrorKind::unsupported,
        fmt::format("{} at {} is not the host's memory, and for a device's there is no library: "
                    "{}; give a buffer of the host, or see docs/gpu.md",
                    name, buffer, why_no_device()));
  const auto location = library->runtime->location_of(buffer);
  if (location.kind == kernels::PointerKind::host && !processor_can_read(buffer))
    throw Error(ErrorKind::invalid_argument,
                fmt::format("{} at {} is no memory of the host, and none that the driver knows",
                            name, buffer));
  if (location.kind == kernels::PointerKind::device && location.device < 0)
    throw Error(
        ErrorKind::invalid_argument,
        fmt::format("{} at {} is a device's address where nothing is allocated", name, buffer));
  return location;
}

/// Kernels read elements as they are.
void expect_aligned(const void* buffer, kernels::PointerKind kind, ElementType type,
                    const char* name) {
  const auto odd = reinterpret_cast<std::uintptr_t>(buffer) % size_of(type);
  if (kind != kernels::PointerKind::device || odd == 0) return;
  throw Error(ErrorKind::invalid_argument,
              fmt::format("{} at {} lies {} bytes behind a multiple of {}; give a device's buffers "
                          "whose addresses are multiples of an element's size ({})",
                          name, buffer, odd, size_of(type), name_of(type)));
}

MemorySpace space_of(kernels::PointerKind kind) {
  switch (kind) {
    case kernels::PointerKind::host: return MemorySpace::host;
    case kernels::PointerKind::pinned: return MemorySpace::pinned;
    case kernels::PointerKind::device: return MemorySpace::cuda;
  }
  return MemorySpace::host;
}

}  // namespace

std::string Placement::text() const {
  const auto name = [&](MemorySpace space) {
    return space == MemorySpace::cuda ? fmt::format("cuda:{}", device) : std::string("host");
  };
  return name(input) == name(output) ? name(input) : name(input) + " to " + name(output);
}

void expect_on_device(const Placement& placement) {
  if (placement.on_device()) return;
  throw Error(
      ErrorKind::invalid_argument,
      "the call is to come behind a stream, and its buffers are the host's, of which no stream "
      "knows the order; give a device's buffers, or no stream");
}

/// The host's, so that no driver is to be asked.
bool is_plainly_readable(const void* buffer) {
  return buffer == nullptr || ReadablePages::can_read(buffer);
}

Placement placement_of(const void* input, const void* output, ElementType type) {
  // The usual case.
  if (loaded_device_library() == nullptr && is_plainly_readable(input) &&
      is_plainly_readable(output) && !driver_is_loaded())
    return {};
  const kernels::PointerLocation in = location_of(input, "input");
  const bool alike = output == nullptr || input == output;
  const kernels::PointerLocation out = alike ? in : location_of(output, "output");
  expect_aligned(input, in.kind, type, "input");
  expect_aligned(output, out.kind, type, "output");
  Placement placement{.input = space_of(in.kind), .output = space_of(out.kind)};
  const bool device_in = in.kind == kernels::PointerKind::device;
  const bool device_out = out.kind == kernels::PointerKind::device;
  if (device_in && device_out && in.device != out.device)
    throw Error(
        ErrorKind::invalid_argument,
        fmt::format("input lies on device {} and output on device {}; give buffers of one device",
                    in.device, out.device));
  if (device_in || device_out) placement.device = device_in ? in.device : out.device;
  return placement;
}

}  // namespace cohom
