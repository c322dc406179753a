#pragma once
// HostElements: a user's vector where the processor can read it.

#include "memory/memory.hpp"

#include <cohom/element_type.hpp>

#include <cstddef>

namespace cohom {

class HostElements {
 public:
  /// Of a device's vector it takes a copy, behind all that the device has to do. The vector
  /// outlives it. @throws what placement_of() and expect_order() do; Error(memory);
  /// kernels::DeviceError
  HostElements(const void* vector, std::size_t count, ElementType type);

  [[nodiscard]] const void* data() const { return elements_; }

 private:
  MemoryArray<std::byte> copy_;
  const void* elements_;
};

}  // namespace cohom
