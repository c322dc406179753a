#pragma once
// cohom with CUDA's own types, for programs that have its headers. Nothing of CUDA is needed to
// link.

#include <cohom/cxx20.hpp>

#include <cohom/allreduce.hpp>
#include <cohom/reductions.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>

namespace cohom {

/// allreduce_async() of <cohom/allreduce.hpp>.
inline Request allreduce_async(const void* input, void* output, std::size_t count, ElementType type,
                               Communicator& communicator, const Options& options,
                               cudaStream_t stream) {
  return allreduce_async(input, output, count, type, communicator, options, DeviceStream{stream});
}

/// reduce_scatter_async() of <cohom/reductions.hpp>.
inline Request reduce_scatter_async(const void* input, void* output, std::size_t count,
                                    ElementType type, Communicator& communicator,
                                    const Options& options, cudaStream_t stream) {
  return reduce_scatter_async(input, output, count, type, communicator, options,
                              DeviceStream{stream});
}

/// reduce_async() of <cohom/reductions.hpp>.
inline Request reduce_async(const void* input, void* output, std::size_t count, ElementType type,
                            int root, Communicator& communicator, const Options& options,
                            cudaStream_t stream) {
  return reduce_async(input, output, count, type, root, communicator, options,
                      DeviceStream{stream});
}

/// Plan::start() in the order of a stream.
inline void start(Plan& plan, const void* input, void* output, cudaStream_t stream) {
  plan.start(input, output, DeviceStream{stream});
}

}  // namespace cohom
