#pragma once
// Placement: where the buffers of a call lie.

#include <cohom/element_type.hpp>
#include <cohom/error.hpp>
#include <cohom/memory_space.hpp>

#include <string>
#include <variant>

namespace cohom {

/// Managed memory counts as a device's. A null input, of an empty vector, is the host's; a null
/// output, of a rank that gets nothing, lies where the input does.
struct Placement {
  MemorySpace input = MemorySpace::host;
  MemorySpace output = MemorySpace::host;
  int device = -1;  ///< of what lies on one

  [[nodiscard]] bool on_device() const { return device >= 0; }
  /// Whether all that a kernel of the device reads and writes is there.
  [[nodiscard]] bool all_on_device() const {
    return input == MemorySpace::cuda && output == MemorySpace::cuda;
  }
  /// Pinned memory is the host's.
  friend bool operator==(const Placement& a, const Placement& b) {
    const auto there = [](MemorySpace space) { return space == MemorySpace::cuda; };
    return there(a.input) == there(b.input) && there(a.output) == there(b.output) &&
           a.device == b.device;
  }
  /// "host", "cuda:0" or "host to cuda:0"; pinned memory is the host's.
  [[nodiscard]] std::string text() const;
};

/// Asks the driver where a library with kernels is loaded. Where none is, memory that the processor
/// cannot read loads one, and so does what a driver in this process knows: so memory is placed the
/// same before and after, and managed memory as a device's. Without a library, what the processor
/// can read is the host's.
/// @throws Error(unsupported) for such memory and no library; Error(invalid_argument) for two
/// devices, and for
///         a device's addresses that are not aligned to an element.
Placement placement_of(const void* input, const void* output, ElementType type);

/// Of a call in the order of a stream. @throws Error(invalid_argument) when nothing of it is a
/// device's.
void expect_on_device(const Placement& placement);

}  // namespace cohom
