// Streams and events, as CUDA's runtime does them.

#include "device_state.hpp"
#include "streams.hpp"

#include <cuda_runtime_api.h>

#include <memory>
#include <set>

namespace cohom::ptx {
namespace {

std::shared_ptr<Stream> find(cudaStream_t stream) {
  // That of each thread, which nothing is put into, is not told apart from it.
  if (stream == cudaStreamLegacy || stream == cudaStreamPerThread) stream = nullptr;
  return Streams::instance().find(reinterpret_cast<Streams::Handle>(stream));
}

/// An event is the point that it recorded last.
std::set<Point*>& events() {
  static std::set<Point*>& events = *new std::set<Point*>();
  return events;
}
/// Null for one that is none, or was destroyed.
Point* find(cudaEvent_t event) {
  auto* const point = reinterpret_cast<Point*>(event);
  return events().contains(point) ? point : nullptr;
}

}  // namespace
}  // namespace cohom::ptx

using cohom::ptx::DeviceLock;
using cohom::ptx::find;
using cohom::ptx::Point;
using cohom::ptx::Streams;
using cohom::ptx::told;

extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  const DeviceLock lock;
  const bool blocking = (flags & cudaStreamNonBlocking) == 0;
  *stream = reinterpret_cast<cudaStream_t>(Streams::instance().add(blocking));
  return told(cudaSuccess);
}
cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  const DeviceLock lock;
  const auto stream = find(handle);
  if (!stream || handle == nullptr) return told(cudaErrorInvalidResourceHandle);
  stream->do_all();
  Streams::instance().remove(reinterpret_cast<Streams::Handle>(handle));
  return told(cudaSuccess);
}
cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  const DeviceLock lock;
  const auto stream = find(handle);
  if (!stream) return told(cudaErrorInvalidResourceHandle);
  stream->do_until(Streams::instance().record(stream).number);
  return told(cudaSuccess);
}
cudaError_t cudaDeviceSynchronize() {
  const DeviceLock lock;
  Streams::instance().do_all();
  return told(cudaSuccess);
}
cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  const DeviceLock lock;
  *status = cudaStreamCaptureStatusNone;  // no call here begins a capture
  return told(find(handle) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned) {
  const DeviceLock lock;
  const Point* const point = find(event);
  const auto stream = find(handle);
  if (point == nullptr || !stream) return told(cudaErrorInvalidResourceHandle);
  if (point->stream && point->stream != stream) Streams::instance().put(stream, [] {}, {*point});
  return told(cudaSuccess);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  const DeviceLock lock;
  auto made = std::make_unique<Point>();
  *event = reinterpret_cast<cudaEvent_t>(made.get());
  cohom::ptx::events().insert(made.release());
  return told(cudaSuccess);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const DeviceLock lock;
  const std::unique_ptr<Point> point(find(event));
  if (!point) return told(cudaErrorInvalidResourceHandle);
  cohom::ptx::events().erase(point.get());
  return told(cudaSuccess);
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
  const DeviceLock lock;
  Point* const point = find(event);
  const auto stream = find(handle);
  if (point == nullptr || !stream) return told(cudaErrorInvalidResourceHandle);
  *point = Streams::instance().record(stream);
  return told(cudaSuccess);
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const DeviceLock lock;
  const Point* const point = find(event);
  if (point == nullptr) return told(cudaErrorInvalidResourceHandle);
  if (point->is_done()) return told(cudaSuccess);
  if (Streams::instance().goes_on_when_asked()) point->stream->do_one();
  return told(cudaErrorNotReady);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const DeviceLock lock;
  const Point* const point = find(event);
  if (point == nullptr) return told(cudaErrorInvalidResourceHandle);
  if (point->stream) point->stream->do_until(point->number);
  return told(cudaSuccess);
}

}  // extern "C"
