#pragma once
// launch(kernel): puts a kernel into the stream of the calling thread's context, on the device this source
// is compiled for.

#if defined(__CUDACC__)
#include "kernels/cuda/library/launch_cuda.hpp"
#else
#include "kernels/cuda/emulated/launch_emulated.hpp"
#endif
