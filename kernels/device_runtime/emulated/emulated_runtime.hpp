#pragma once
// DeviceRuntime without a device: kernels run on the host, on memory that only they can reach. What
// is put into a stream waits there until somebody waits for it, as late as a device could be. As
// CUDA's do, giving memory back and taking pinned memory wait for all that the devices have to do.

#include "kernels/device_runtime/device_library.hpp"

#include <cstddef>
#include <functional>

namespace cohom::kernels {

/// The emulated device, with all kernels. For tests; thread-safe as a device's is.
const DeviceLibrary& emulated_device();

/// What can go wrong with a device, on demand. After restore() everything goes well again, and no
/// kernel is loaded.
namespace emulated {

constexpr int devices = 2;

/// allocate() fails when more than so many bytes would be allocated, pinned ones not counted.
void set_capacity(std::size_t bytes);
/// Bytes of device memory that are allocated.
std::size_t allocated();
/// Memory that the processor reads, too, and that is the thread's device's.
void* allocate_managed(std::size_t bytes);
void free_managed(void* memory);
/// At first 8.0.
void set_capability(int device, ComputeCapability capability);
/// From now on every call fails as after an illegal access, and kernels do nothing.
void break_device();
/// While a stream is held its work takes for ever: who asks whether some of it is done hears no,
/// and who waits for it is counted, and then sees it done.
void hold(DeviceStream stream, bool now);
unsigned waits_for_held();
/// Whether copies are done at once where nothing is before them in their stream, and so overtake
/// the work of other streams that nothing keeps before them.
void set_quick_copies(bool quick);
/// Whether a stream records a graph for this thread. Then to wait, to ask how far a stream is, and
/// to take or give back memory are errors in this thread, which end the capture. One that `shows`
/// shows in the default stream, as those of CUDA do that are not made with cudaStreamNonBlocking.
void set_capturing(DeviceStream stream, bool capturing, bool shows = true);
/// Whether such an error has ended the stream's capture.
bool capture_broken(DeviceStream stream);
void restore();

/// What an address of device memory holds, for a test to look at or to set. The streams that work
/// on it must be synchronised.
void read(void* host, const void* device, std::size_t bytes);
void write(void* device, const void* host, std::size_t bytes);

}  // namespace emulated

namespace device {

DeviceRuntime& emulated_device_runtime();

/// The calling thread's.
int current_device();
/// Counts restore(): what was loaded before is loaded no more.
unsigned life();
/// Does what all streams have.
void wait_for_all() noexcept;

/// Puts work into a stream.
void enqueue(DeviceStream stream, std::function<void()> work);

}  // namespace device
}  // namespace cohom::kernels
