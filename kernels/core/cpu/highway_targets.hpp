#pragma once
// Which Highway targets are compiled, the same in every kernel source. Include before any hwy
// header.
//
// x86-64: SSE4, AVX2 and AVX-512 (Skylake-X and later). The baseline is raised to SSE4, because the
// plain C++ reference is there for anything older; the code of a target runs only after
// supported_isas() has asked the processor. AArch64: NEON, which every one of these processors has.
// Elsewhere only the reference is built.
//
// Sanitizers get SSE4 alone where a wider vector would show them nothing, which compiles in a third
// of the time: threads never meet in a kernel, and COHOM_ONE_TARGET is for what is not
// instrumented.
//
// COHOM_ROW_OF(isa, row) is what `row`, a function in the namespaces of all targets, returns for an
// instruction set.

#if defined(__x86_64__) && (defined(__SANITIZE_THREAD__) || defined(COHOM_ONE_TARGET))
#define COHOM_HIGHWAY_TARGETS 1
#define HWY_BASELINE_TARGETS HWY_SSE4
#define HWY_COMPILE_ONLY_STATIC
#define COHOM_ROW_OF(isa, row) (static_cast<void>(isa), N_SSE4::row())
#elif defined(__x86_64__)
#define COHOM_HIGHWAY_TARGETS 1
#define HWY_BASELINE_TARGETS HWY_SSE4
#define COHOM_ROW_OF(isa, row) \
  ((isa) == Isa::avx512 ? N_AVX3::row() : (isa) == Isa::avx2 ? N_AVX2::row() : N_SSE4::row())
#elif defined(__aarch64__)
#define COHOM_HIGHWAY_TARGETS 1
#define HWY_BASELINE_TARGETS HWY_NEON
#define HWY_COMPILE_ONLY_STATIC  // no SVE
#define COHOM_ROW_OF(isa, row) (static_cast<void>(isa), N_NEON::row())
#else
#define COHOM_HIGHWAY_TARGETS 0
#endif
