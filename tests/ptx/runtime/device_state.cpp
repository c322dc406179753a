#include "device_state.hpp"

#include "streams.hpp"

#include <atomic>

namespace cohom::ptx {
namespace {

std::recursive_mutex device_mutex;
std::atomic<cudaError_t> broken_by = cudaSuccess;
thread_local cudaError_t last_error = cudaSuccess;

}  // namespace

DeviceLock::DeviceLock() : lock_(device_mutex) { Streams::instance().go_on(); }

cudaError_t told(cudaError_t error) {
  if (is_broken()) error = broken_by;
  if (error != cudaSuccess) last_error = error;
  return error;
}

cudaError_t take_last_error() {
  const cudaError_t error = is_broken() ? broken_by.load() : last_error;
  last_error = cudaSuccess;
  return error;
}

void break_device(cudaError_t error) { broken_by = error; }
bool is_broken() { return broken_by != cudaSuccess; }

}  // namespace cohom::ptx
