#pragma once
// The rows of a device's sketches, called with host memory (host_called.hpp).

#include "kernels/device_runtime/device_library.hpp"
#include "kernels/sketch/integer_sketch.hpp"
#include "kernels/table/kernel_table.hpp"
#include "staged_arrays.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohom::test {

/// `number` tells devices apart.
template <int number>
struct HostCalledSketch {
  using Word = std::uint64_t;

  static inline const kernels::DeviceLibrary* library = nullptr;

  static const kernels::SketchKernels& device() { return library->kernels->sketch; }

  static kernels::SketchRun staged(StagedCall& call, kernels::SketchRun run) {
    run.names = call.in(run.names, 4 * run.items());
    return run;
  }
  static std::size_t bytes_of(const kernels::SketchRun& run) {
    return run.items() * size_of(run.format.type);
  }

  static void insert(const kernels::SketchRun& run, const void* elements, Word* cells) {
    StagedCall call(*library);
    device().insert(staged(call, run), call.in(elements, bytes_of(run)),
                    call.in(cells, 8 * run.cells()));
    call.out(cells, 8 * run.cells());
  }
  static std::size_t peel(const kernels::SketchRun& run, const Word* cells, std::uint8_t* known,
                          void* elements) {
    StagedCall call(*library);
    std::vector<std::byte> scratch(kernels::sketch_scratch_bytes(run.items(), run.cells()));
    kernels::SketchRun there = staged(call, run);
    there.scratch = call.in(scratch.data(), scratch.size());
    const std::size_t left =
        device().peel(there, call.in(cells, 8 * run.cells()), call.in(known, run.items()),
                      call.in(elements, bytes_of(run)));
    call.out(known, run.items());
    call.out(elements, bytes_of(run));
    return left;
  }
  static void keep_unknown(std::size_t element_bytes, const std::uint8_t* known, std::size_t items,
                           const void* from, void* to) {
    StagedCall call(*library);
    const std::size_t bytes = items * element_bytes;
    device().keep_unknown(element_bytes, call.in(known, items), items, call.in(from, bytes),
                          call.in(to, bytes));
    call.out(to, bytes);
  }
  static std::size_t reach(std::size_t element_bytes, const std::size_t* positions,
                           std::size_t count) {
    return count == 0 ? 0 : (*std::max_element(positions, positions + count) + 1) * element_bytes;
  }
  static void gather(std::size_t element_bytes, const void* elements, const std::size_t* positions,
                     std::size_t count, void* gathered) {
    StagedCall call(*library);
    device().gather(element_bytes, call.in(elements, reach(element_bytes, positions, count)),
                    positions, count, gathered);
  }
  static void scatter(std::size_t element_bytes, const void* gathered, const std::size_t* positions,
                      std::size_t count, void* elements) {
    StagedCall call(*library);
    const std::size_t bytes = reach(element_bytes, positions, count);
    device().scatter(element_bytes, gathered, positions, count, call.in(elements, bytes));
    call.out(elements, bytes);
  }

  static kernels::SketchKernels row(const kernels::DeviceLibrary& from) {
    library = &from;
    return {insert, peel, keep_unknown, gather, scatter};
  }
};

}  // namespace cohom::test
