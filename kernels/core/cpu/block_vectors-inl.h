// What processors do in one step and Highway 1.0.3 does not offer, at each vector width.
//
// All of it works inside blocks of 128 bits, or on whole blocks. A "block" here is such a part of a
// vector, not a codec's block. Without guards: both files have their own.

#if defined(__x86_64__)
#include "kernels/core/cpu/x86_vectors-inl.h"
#else
#include "kernels/core/cpu/neon_vectors-inl.h"
#endif
