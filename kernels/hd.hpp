#pragma once
// COHOM_HD marks a function of kernels/body that runs on the host and, compiled by nvcc, on the
// device too: one body, so that both give the same bits.

#if defined(__CUDACC__)
#define COHOM_HD __host__ __device__
#else
#define COHOM_HD
#endif
