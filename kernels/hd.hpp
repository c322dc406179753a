#pragma once
// COHOM_HD marks a function of kernels/body that runs on the host and, compiled by nvcc, on the
// device too: one body, so that both give the same bits. COHOM_UNROLL stands before loops over registers,
// which have no addresses on a device.

#if defined(__CUDACC__)
#define COHOM_HD __host__ __device__
#define COHOM_UNROLL _Pragma("unroll")
#else
#define COHOM_HD
#define COHOM_UNROLL
#endif
