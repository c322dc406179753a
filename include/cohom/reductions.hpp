#pragma once
// reduce_scatter and reduce: a sum of which a rank gets a part, or one rank all; allgather, which
// adds nothing. Codecs, options, states and errors are allreduce()'s.

#include <cohom/cxx20.hpp>

#include <cohom/allreduce.hpp>
#include <cohom/communicator.hpp>
#include <cohom/device_stream.hpp>
#include <cohom/element_type.hpp>
#include <cohom/error.hpp>
#include <cohom/options.hpp>

#include <cstddef>
#include <ranges>
#include <string>

namespace cohom {

/// output := part r, on rank r, of the sum or mean over all ranks of input, which has `ranks` parts
/// of `count` elements each, part 0 first. `output` (count elements) may equal `input`, and then
/// only its first `count` elements are written; or not overlap it. Buffers are the host's or a
/// device's.
///
/// By algorithms `ring` and `direct`, with the codecs that cohom-info names, no rank gets others'
/// parts: an allreduce without its allgather. Each part then begins with a block of the codec, 256
/// to 1024 elements; if `count` is no multiple of one, parts are copied, with zeros behind each.
/// Other algorithms and codecs make an allreduce, of which each rank keeps its part. A part has the
/// bits that allreduce() gives by the same algorithm, unless parts are copied so. By algorithm
/// `native`, which `Options::native` may take, it has those of MPI's reduce_scatter. Collective.
/// @throws what allreduce() throws.
void reduce_scatter(const void* input, void* output, std::size_t count, ElementType type,
                    Communicator& communicator, const Options& options = {});
/// Without blocking, as allreduce_start().
Request reduce_scatter_start(const void* input, void* output, std::size_t count, ElementType type,
                             Communicator& communicator, const Options& options = {});
/// On a device's buffers in the order of a stream, as allreduce_async().
Request reduce_scatter_async(const void* input, void* output, std::size_t count, ElementType type,
                             Communicator& communicator, const Options& options,
                             DeviceStream stream);

/// output := the sum or mean over all ranks of input (count elements) on rank `root`; on others it
/// is not written and may be null. `output` may equal `input`, or not overlap it. Buffers are the
/// host's or a device's: the inputs of all ranks and the root's output in the same kind of memory,
/// unless all give Options::segment. By the algorithms and codecs that reduce_scatter() names, sums
/// go to the root alone; others make an allreduce. Collective. @throws what allreduce() throws;
/// Error(invalid_argument) for a root that is none of the ranks.
void reduce(const void* input, void* output, std::size_t count, ElementType type, int root,
            Communicator& communicator, const Options& options = {});
/// Without blocking, as allreduce_start().
Request reduce_start(const void* input, void* output, std::size_t count, ElementType type, int root,
                     Communicator& communicator, const Options& options = {});
/// On a device's buffers in the order of a stream, as allreduce_async().
Request reduce_async(const void* input, void* output, std::size_t count, ElementType type, int root,
                     Communicator& communicator, const Options& options, DeviceStream stream);

/// output := the parts of all ranks, part 0 first: `input` of each rank, of `count` elements, as an
/// allreduce of that rank alone by the same codec, in one segment, would give it, with the same
/// bits on all ranks. A part travels as it is where so many of its elements are outliers that it
/// would be longer otherwise. `output` has `ranks` times as many elements; `input` may be this
/// rank's part of it (in place), or not overlap it. Buffers are the host's or a device's. Parts are
/// compressed in the host's memory and the calling thread: Options::segment and threads say nothing
/// here, nor do aggregators. Algorithms are `direct`, `ring` and `native`, which is MPI's
/// allgather. Collective.
/// @throws what allreduce() throws; Error(unsupported) for other algorithms, for codecs that keep
/// state, and for more than 2^26 elements but by `native`; Error(invalid_argument) for another
/// Options::op than the sum.
void allgather(const void* input, void* output, std::size_t count, ElementType type,
               Communicator& communicator, const Options& options = {});
/// Without blocking, as allreduce_start().
Request allgather_start(const void* input, void* output, std::size_t count, ElementType type,
                        Communicator& communicator, const Options& options = {});
/// On a device's buffers in the order of a stream, as allreduce_async().
Request allgather_async(const void* input, void* output, std::size_t count, ElementType type,
                        Communicator& communicator, const Options& options, DeviceStream stream);

/// Typed form of reduce_scatter(): the input has `ranks` times the output's elements.
template <ElementRange Input, ElementRange Output>
requires std::same_as<std::ranges::range_value_t<Input>, std::ranges::range_value_t<Output>>
void reduce_scatter(const Input& input, Output&& output, Communicator& communicator,
                    const Options& options = {}) {
  const std::size_t all = std::ranges::size(input);
  const std::size_t part = std::ranges::size(output);
  const auto ranks = static_cast<std::size_t>(communicator.ranks());
  if (all / ranks != part || all % ranks != 0) {
    allreduce_fail(Error(ErrorKind::invalid_argument,
                         "input has " + std::to_string(all) + " elements; of " +
                             std::to_string(ranks) + " parts of " + std::to_string(part) +
                             ", as the output has, it should have " + std::to_string(ranks * part)),
                   communicator)
        .wait();
    return;
  }
  reduce_scatter(std::ranges::data(input), static_cast<void*>(std::ranges::data(output)), part,
                 element_type_v<std::ranges::range_value_t<Input>>, communicator, options);
}

/// Typed form of allgather(): the output has `ranks` times the input's elements.
template <ElementRange Input, ElementRange Output>
requires std::same_as<std::ranges::range_value_t<Input>, std::ranges::range_value_t<Output>>
void allgather(const Input& input, Output&& output, Communicator& communicator,
               const Options& options = {}) {
  const std::size_t part = std::ranges::size(input);
  const std::size_t all = std::ranges::size(output);
  const auto ranks = static_cast<std::size_t>(communicator.ranks());
  if (all / ranks != part || all % ranks != 0) {
    allreduce_fail(Error(ErrorKind::invalid_argument,
                         "output has " + std::to_string(all) + " elements; for " +
                             std::to_string(ranks) + " parts of " + std::to_string(part) +
                             ", as the input has, it should have " + std::to_string(ranks * part)),
                   communicator)
        .wait();
    return;
  }
  allgather(std::ranges::data(input), static_cast<void*>(std::ranges::data(output)), part,
            element_type_v<std::ranges::range_value_t<Input>>, communicator, options);
}

/// Typed form of reduce(): on rank `root` the output has as many elements as the input; that of
/// other ranks may be empty. Another size there is an error of all ranks.
template <ElementRange Input, ElementRange Output>
requires std::same_as<std::ranges::range_value_t<Input>, std::ranges::range_value_t<Output>>
void reduce(const Input& input, Output&& output, int root, Communicator& communicator,
            const Options& options = {}) {
  const std::size_t count = std::ranges::size(input);
  const std::size_t room = std::ranges::size(output);
  const bool is_root = communicator.rank() == root;
  if (is_root && room != count) {
    allreduce_fail(Error(ErrorKind::invalid_argument, "output has " + std::to_string(room) +
                                                          " elements on the root; it should "
                                                          "have " +
                                                          std::to_string(count) + ", as the input"),
                   communicator)
        .wait();
    return;
  }
  reduce(std::ranges::data(input),
         is_root ? static_cast<void*>(std::ranges::data(output)) : nullptr, count,
         element_type_v<std::ranges::range_value_t<Input>>, root, communicator, options);
}

}  // namespace cohom
