#pragma once
// launch(kernel): puts a kernel into the stream of the calling thread's context, on the device this
// source is compiled for.

#if defined(__CUDACC__)
#include "kernels/device_runtime/library/launch_cuda.hpp"
#else
#include "kernels/device_runtime/emulated/launch_emulated.hpp"
#endif
