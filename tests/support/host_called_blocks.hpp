#pragma once
// The kernels that the driver makes of bodies for a device, called with host memory
// (host_called.hpp).

#include "kernels/device_runtime/device_library.hpp"
#include "kernels/table/kernel_table.hpp"
#include "staged_arrays.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cohom::test {

/// `number` tells devices apart.
template <int number>
struct HostCalledBlocks {
  using Word = std::uint64_t;

  static inline const kernels::DeviceLibrary* library = nullptr;

  template <class Body>
  static const kernels::BlockKernels<Body>& device() {
    return library->kernels->blocks.template of<Body>();
  }
  static std::size_t kept_bytes(const kernels::BlockRun& run) {
    return run.count * (run.type == ElementType::f64 ? 8 : 4);
  }
  template <class Body>
  static std::size_t word_bytes(const typename Body::Settings& settings,
                                const kernels::BlockRun& run) {
    const std::size_t ragged = run.count % Body::block;
    return 8 * (run.count / Body::block * Body::words(settings, Body::block) +
                (ragged == 0 ? 0 : Body::words(settings, ragged)));
  }

  template <class Body>
  static void measure(const typename Body::Settings& settings, const kernels::BlockRun& run,
                      const void* input, typename Body::Found* found) {
    StagedCall call(*library);
    device<Body>().measure(settings, run, call.in(input, run.count * size_of(run.type)), found);
  }
  template <class Body>
  static void encode(const typename Body::Settings& settings, const kernels::BlockRun& run,
                     const void* input, const typename Body::Argument* arguments, void* kept,
                     Word* words) {
    StagedCall call(*library);
    const std::size_t bytes = word_bytes<Body>(settings, run);
    device<Body>().encode(settings, run, call.in(input, run.count * size_of(run.type)), arguments,
                          call.in(kept, kept_bytes(run), size_of(run.type)), call.in(words, bytes));
    call.out(words, bytes);
    call.out(kept, kept_bytes(run));
  }
  template <class Body>
  static void decode(const typename Body::Settings& settings, const kernels::BlockRun& run,
                     const Word* words, const typename Body::Argument* arguments, void* kept,
                     void* output) {
    StagedCall call(*library);
    const std::size_t bytes = run.count * size_of(run.type);
    device<Body>().decode(settings, run, call.in(words, word_bytes<Body>(settings, run)), arguments,
                          call.in(kept, kept_bytes(run), size_of(run.type)),
                          call.in(output, bytes));
    call.out(output, bytes);
    call.out(kept, kept_bytes(run));
  }

  static kernels::BlockRows rows(const kernels::DeviceLibrary& from) {
    library = &from;
    return kernels::make_block_rows([]<class Body>() -> kernels::BlockKernels<Body> {
      if constexpr (kernels::MeasuringBody<Body>)
        return {measure<Body>};
      else
        return {encode<Body>, decode<Body>};
    });
  }
};

}  // namespace cohom::test
