#pragma once
// The floating-point modes that a program may have set when it calls the library.

#include <cfenv>
#include <cstdint>

namespace cohom::test {

struct FloatMode {
  const char* name;
  void (*set)();  ///< on top of the default mode, for this thread
};

#if defined(__x86_64__)
inline std::uint64_t float_control() { return __builtin_ia32_stmxcsr(); }
inline void flush_results() { __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8000); }
inline void flush_operands() { __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x0040); }
#elif defined(__aarch64__)
inline std::uint64_t float_control() {
  std::uint64_t control = 0, flags = 0;
  asm volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(control), "=r"(flags));
  return control << 32 | flags;
}
/// One bit flushes both.
inline void flush_results() {
  asm volatile("msr fpcr, %0" : : "r"((float_control() >> 32) | 1u << 24));
}
inline void flush_operands() { flush_results(); }
#else
#error "float_modes.hpp: how does this processor flush denormals to zero?"
#endif

inline constexpr FloatMode float_modes[] = {
    {"results flushed to zero", flush_results},
    {"denormals are zero", flush_operands},
    {"rounded upwards", [] { std::fesetround(FE_UPWARD); }},
    {"rounded downwards", [] { std::fesetround(FE_DOWNWARD); }},
    {"rounded towards zero", [] { std::fesetround(FE_TOWARDZERO); }},
#if defined(__GLIBC__)
    {"exceptions trap", [] { feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW); }},
#endif
};

}  // namespace cohom::test
