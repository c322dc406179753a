#pragma once
// COHOM_HD marks a function of kernels/body that runs on the host and, compiled by nvcc, on the
// device too: one body, so that both give the same bits. COHOM_UNROLL stands before loops over
// registers, which have no addresses on a device.

#if defined(__CUDACC__)
#define COHOM_HD __host__ __device__
#define COHOM_UNROLL _Pragma("unroll")
#else
#define COHOM_HD
#define COHOM_UNROLL
#endif

// Here because the sources of all kernels and codecs include this. Bits of results depend on
// rounding, on NaN and on the order of sums; cmake/build_settings.cmake has the flags.
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ != 0)
#error \
    "cohom must be compiled without -ffast-math and -ffinite-math-only: they change bits of results"
#endif
