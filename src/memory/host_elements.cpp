#include "memory/host_elements.hpp"

#include "memory/device_loader.hpp"
#include "memory/device_order.hpp"
#include "memory/device_work.hpp"
#include "memory/placement.hpp"

#include <optional>

namespace cohom {

HostElements::HostElements(const void* vector, std::size_t count, ElementType type)
    : elements_(vector) {
  if (count == 0) return;
  const Placement placement = placement_of(vector, vector, type);
  if (!placement.on_device()) return;
  expect_order(placement, std::nullopt);
  const std::size_t bytes = count * size_of(type);
  copy_ = {host_memory(), bytes};
  kernels::DeviceRuntime& runtime = *loaded_device_library()->runtime;
  const CurrentDevice use(runtime, placement.device);
  runtime.copy_to_host(copy_.data(), vector, bytes, nullptr);
  runtime.synchronise(nullptr);
  elements_ = copy_.data();
}

}  // namespace cohom
