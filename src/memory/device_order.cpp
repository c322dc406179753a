#include "memory/device_order.hpp"

#include "memory/device_loader.hpp"
#include "memory/device_work.hpp"

#include <fmt/format.h>

#include <string>

namespace cohom {

namespace {

Error captured(const std::string& what) {
  return {ErrorKind::invalid_argument,
          what +
              ", and a graph cannot hold messages between ranks; end the capture before the "
              "call"};
}

/// `current`: the calling thread's device before it was changed to the buffers'.
void expect_stream_of(int device, kernels::DeviceRuntime& runtime, kernels::DeviceStream stream,
                      int current) {
  const bool is_default = kernels::is_default_stream(stream);
  if (is_default && current != device)
    throw Error(ErrorKind::invalid_argument,
                fmt::format("the stream is the default one of device {}, the calling thread's, and "
                            "the buffers lie on device {}; make device {} the thread's before the "
                            "call, or give a stream of it",
                            current, device, device));
  if (!runtime.has(stream))
    throw Error(ErrorKind::invalid_argument,
                fmt::format("the stream at {} is none of device {}, where the buffers lie; give "
                            "one that was made while device {} was the thread's",
                            static_cast<const void*>(stream), device, device));
}

}  // namespace

void expect_order(const Placement& placement, std::optional<kernels::DeviceStream> stream) {
  if (stream) expect_on_device(placement);
  if (!placement.on_device()) return;
  kernels::DeviceRuntime& runtime = *loaded_device_library()->runtime;
  const int current = runtime.current_device();
  const CurrentDevice use(runtime, placement.device);
  if (stream && runtime.capturing(*stream))
    throw captured("the stream is being captured into a graph");
  if (runtime.capturing_here())
    throw captured("this thread, or another one on its device, captures a stream into a graph");
  try {
    if (stream)
      expect_stream_of(placement.device, runtime, *stream, current);
    else
      runtime.synchronise_device();
  } catch (const kernels::DeviceError& refused) {
    if (refused.kind() != ErrorKind::unsupported) throw;
    throw captured(fmt::format("a stream is being captured into a graph ({})", refused.what()));
  }
}

}  // namespace cohom
