#include "kernels/device_runtime/current_context.hpp"

#include <utility>

namespace cohom::kernels::device {
namespace {

thread_local DeviceContext* current = nullptr;

}  // namespace

DeviceContext& current_context() {
  if (current == nullptr)
    throw Error(ErrorKind::state, "a kernel of the device was called outside of a DeviceScope");
  return *current;
}

DeviceContext& begin_call() {
  DeviceContext& context = current_context();
  context.begin_call();
  return context;
}

DeviceContext* enter(DeviceContext* context) { return std::exchange(current, context); }

}  // namespace cohom::kernels::device
