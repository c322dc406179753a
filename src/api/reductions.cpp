#include <cohom/reductions.hpp>

#include "api/call_start.hpp"

namespace cohom {

namespace {

PlanShape part_of(std::size_t count, ElementType type) {
  return {.count = count, .type = type, .collective = ReductionKind::reduce_scatter};
}

PlanShape at_root(std::size_t count, ElementType type, int root) {
  return {.count = count, .type = type, .collective = ReductionKind::reduce, .root = root};
}

PlanShape gathered(std::size_t count, ElementType type) {
  return {.count = count, .type = type, .collective = ReductionKind::allgather};
}

/// On a device's buffers in the order of a stream.
Request start_behind(const void* input, void* output, const PlanShape& shape,
                     Communicator& communicator, const Options& options, DeviceStream stream) {
  return start_call({.input = input,
                     .output = output,
                     .shape = shape,
                     .stream = static_cast<kernels::DeviceStream>(stream.handle)},
                    communicator, options);
}

}  // namespace

void reduce_scatter(const void* input, void* output, std::size_t count, ElementType type,
                    Communicator& communicator, const Options& options) {
  start_call({.input = input, .output = output, .shape = part_of(count, type), .blocks = true},
             communicator, options)
      .wait();
}

Request reduce_scatter_start(const void* input, void* output, std::size_t count, ElementType type,
                             Communicator& communicator, const Options& options) {
  return start_call({.input = input, .output = output, .shape = part_of(count, type)}, communicator,
                    options);
}

Request reduce_scatter_async(const void* input, void* output, std::size_t count, ElementType type,
                             Communicator& communicator, const Options& options,
                             DeviceStream stream) {
  return start_behind(input, output, part_of(count, type), communicator, options, stream);
}

void reduce(const void* input, void* output, std::size_t count, ElementType type, int root,
            Communicator& communicator, const Options& options) {
  start_call(
      {.input = input, .output = output, .shape = at_root(count, type, root), .blocks = true},
      communicator, options)
      .wait();
}

Request reduce_start(const void* input, void* output, std::size_t count, ElementType type, int root,
                     Communicator& communicator, const Options& options) {
  return start_call({.input = input, .output = output, .shape = at_root(count, type, root)},
                    communicator, options);
}

Request reduce_async(const void* input, void* output, std::size_t count, ElementType type, int root,
                     Communicator& communicator, const Options& options, DeviceStream stream) {
  return start_behind(input, output, at_root(count, type, root), communicator, options, stream);
}

void allgather(const void* input, void* output, std::size_t count, ElementType type,
               Communicator& communicator, const Options& options) {
  start_call({.input = input, .output = output, .shape = gathered(count, type), .blocks = true},
             communicator, options)
      .wait();
}

Request allgather_start(const void* input, void* output, std::size_t count, ElementType type,
                        Communicator& communicator, const Options& options) {
  return start_call({.input = input, .output = output, .shape = gathered(count, type)},
                    communicator, options);
}

Request allgather_async(const void* input, void* output, std::size_t count, ElementType type,
                        Communicator& communicator, const Options& options, DeviceStream stream) {
  return start_behind(input, output, gathered(count, type), communicator, options, stream);
}

}  // namespace cohom
