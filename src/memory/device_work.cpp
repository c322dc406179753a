#include "memory/device_work.hpp"

#include "memory/device_code.hpp"
#include "memory/device_memory.hpp"

#include <algorithm>

namespace cohom {

CurrentDevice::CurrentDevice(kernels::DeviceRuntime& runtime, int device)
    : runtime_(runtime), before_(runtime.current_device()) {
  if (device != before_) runtime_.set_device(device);
}

CurrentDevice::~CurrentDevice() {
  try {
    runtime_.set_device(before_);
  } catch (const Error&) {  // a device that is lost: the next call on it says so
  }
}

std::shared_ptr<DeviceWork> DeviceWork::make(const kernels::DeviceLibrary& library, int device) {
  expect_code(library, device);
  const CurrentDevice current(*library.runtime, device);
  library.load();
  return std::make_shared<DeviceWork>(library, device);
}

DeviceWork::DeviceWork(const kernels::DeviceLibrary& library, int device)
    : library_(library),
      device_(device),
      stream_(library.runtime->make_stream(), {library.runtime}),
      to_host_(library.runtime->make_stream(), {library.runtime}),
      from_host_(library.runtime->make_stream(), {library.runtime}),
      context_(library, stream_.get()),
      memory_(make_device_memory(context_)),
      pinned_(make_pinned_memory(*library.runtime)) {}

DeviceWork::~DeviceWork() {
  for (const kernels::DeviceEvent event : all_) runtime().destroy_event(event);
}

DeviceWork::Use::Use(DeviceWork* work) {
  if (work == nullptr) return;
  current_.emplace(work->runtime(), work->device());
  scope_.emplace(work->context());
}

kernels::DeviceEvent DeviceWork::mark(kernels::DeviceStream stream) {
  if (idle_.empty()) {
    all_.reserve(all_.size() + 1);
    idle_.reserve(std::max(all_.size() + 1, idle_.capacity()));  // so that forget() cannot fail
    all_.push_back(runtime().make_event());
    idle_.push_back(all_.back());
  }
  const kernels::DeviceEvent event = idle_.back();
  idle_.pop_back();
  runtime().record(event, stream);
  return event;
}

void DeviceWork::let_follow(kernels::DeviceStream stream, kernels::DeviceStream other) {
  const kernels::DeviceEvent event = mark(other);
  runtime().let_wait(stream, event);
  forget(event);
}

void DeviceWork::synchronise() {
  for (const Stream* stream : {&stream_, &to_host_, &from_host_})
    runtime().synchronise(stream->get());
}

}  // namespace cohom
