#pragma once
// allreduce: one call, no plan to keep. Plans are looked up in a cache of the communicator.

#include <cohom/cxx20.hpp>

#include <cohom/communicator.hpp>
#include <cohom/device_stream.hpp>
#include <cohom/element_type.hpp>
#include <cohom/error.hpp>
#include <cohom/options.hpp>
#include <cohom/plan.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <ranges>
#include <string>

namespace cohom {

class CallImpl;
class CommunicatorImpl;

/// An allreduce in flight. Destroying it waits for the call. It may outlive its communicator, which
/// completes the call when it is destroyed.
class Request {
 public:
  Request() = default;  ///< nothing in flight; test() is true
  Request(std::shared_ptr<CallImpl> call, CommunicatorImpl& communicator);  ///< internal
  Request(Request&&) noexcept = default;
  Request& operator=(Request&&) noexcept;
  ~Request();

  /// Advances every call of the communicator; true when this one is complete. Does not block.
  /// @throws Error, the call's (the same one on all ranks).
  bool test();
  /// Blocks until complete, yielding the core while there is nothing to do.
  /// @throws Error, the call's (the same one on all ranks).
  void wait();

 private:
  std::shared_ptr<CallImpl> call_;
  CommunicatorImpl* communicator_ = nullptr;  ///< may be gone once the call is complete
};

/// Starts: output := sum or mean over all ranks of input (count elements of `type` on every rank).
/// `output` may equal `input`, or not overlap it. Buffers may be the host's or a device's, each:
/// the driver is asked. A device's are aligned to an element. Of them it first waits for all that
/// the device has to do, which is an error while the thread captures a graph, and the output is
/// there when the request is complete; docs/gpu.md says what runs where. Every error, of this
/// rank's arguments too, comes out of the request, on all ranks. Collective. Does not block, except
/// to finish an earlier call that has the same Options::buffer, or the oldest call when
/// Transport::channels() of them are in flight.
Request allreduce_start(const void* input, void* output, std::size_t count, ElementType type,
                        Communicator& communicator, const Options& options = {});

/// allreduce_start() on a device's buffers in the order of a stream: reads the input behind what
/// the stream has so far, and waits for it neither here nor in Request::test(). Once the request is
/// complete, what is put into the stream from then on finds the output there; so does whoever
/// synchronises the stream. Until then the buffers stay untouched, and the stream must live. The
/// first call of a kind (count, type, options, device), and the first beside others of its kind in
/// flight, takes memory and loads kernels, for which the driver waits for what the device has to
/// do, this stream's work too: warm up, or prepare() an AllreducePlan. Errors of the arguments are,
/// besides allreduce_start()'s: buffers of the host, a stream of another device than theirs (a
/// default stream is the calling thread's device's), and a stream that is being captured into a
/// graph. Collective.
Request allreduce_async(const void* input, void* output, std::size_t count, ElementType type,
                        Communicator& communicator, const Options& options, DeviceStream stream);

/// The same for an operation that does not even reach argument checking on this rank, e.g. a
/// datatype that cannot be compressed: takes part in the call so that all ranks get `error`.
Request allreduce_fail(const Error& error, Communicator& communicator);

/// Blocking form. All ranks end with bit-identical results (by native, and raw by fabric: as
/// far as MPI's own reduction gives them).
/// @throws Error on all ranks alike; then `output` is undefined, and the state of a named buffer as
/// after reset if the call had begun. The exception is Error(transport) in the middle of a call:
/// like an error of MPI it comes on the rank that met it, and others may wait for that rank.
void allreduce(const void* input, void* output, std::size_t count, ElementType type,
               Communicator& communicator, const Options& options = {});

/// Bytes of the workspaces that calls without a plan of their own keep, on all communicators of the
/// process, and the most there were at a time. COHOM_PLAN_MEMORY limits them, but for the newest
/// one and those in use: above it workspaces that were not used for longest are given back, and
/// made anew when needed. Local, at any time.
struct PlanMemoryUse {
  std::size_t bytes = 0, most_bytes = 0;
};
PlanMemoryUse plan_memory_use();

/// Vectors, arrays and spans of Element.
template <class Range>
concept ElementRange = std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range> &&
    Element<std::ranges::range_value_t<Range>>;

/// Typed form; both ranges must have one size. @throws what the form above does.
template <ElementRange Input, ElementRange Output>
requires std::same_as<std::ranges::range_value_t<Input>, std::ranges::range_value_t<Output>>
void allreduce(const Input& input, Output&& output, Communicator& communicator,
               const Options& options = {}) {
  const std::size_t elements = std::ranges::size(input);
  if (elements != std::ranges::size(output)) {
    allreduce_fail(Error(ErrorKind::invalid_argument,
                         "input and output differ in size: " + std::to_string(elements) + " and " +
                             std::to_string(std::ranges::size(output)) + " elements"),
                   communicator)
        .wait();
    return;
  }
  allreduce(std::ranges::data(input), static_cast<void*>(std::ranges::data(output)), elements,
            element_type_v<std::ranges::range_value_t<Input>>, communicator, options);
}

/// In place.
template <ElementRange Data>
void allreduce(Data&& data, Communicator& communicator, const Options& options = {}) {
  void* const elements = std::ranges::data(data);
  allreduce(elements, elements, std::ranges::size(data),
            element_type_v<std::ranges::range_value_t<Data>>, communicator, options);
}

}  // namespace cohom
