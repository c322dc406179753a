#pragma once
// Which Highway targets are compiled, the same in every kernel source. Include before any hwy header.
//
// x86-64: SSE4, AVX2 and AVX-512 (Skylake-X and later). The baseline is raised to SSE4, because the
// plain C++ reference is there for anything older; the code of a target runs only after
// supported_isas() has asked the processor. Elsewhere only the reference is built so far.

#if defined(__x86_64__)
#define COHOM_HIGHWAY_TARGETS 1
#define HWY_BASELINE_TARGETS HWY_SSE4
#else
#define COHOM_HIGHWAY_TARGETS 0
#endif
