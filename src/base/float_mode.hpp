#pragma once
// DefaultFloatMode: this thread computes as IEEE 754 says, whatever the caller has set.
//
// A floating-point mode belongs to a thread and is inherited by those that it starts. A program
// built with -Ofast flushes denormals to zero, others round upwards or trap on a division by zero.
// Ranks whose modes differ would decode different sums.

#if defined(__x86_64__)
#include <cstdint>
#elif defined(__aarch64__)
#include <cstdint>
#else
#include <cfenv>
#endif

namespace cohom {

/// While it lives: round to nearest, denormals are kept, no exception traps. Afterwards the
/// caller's mode and exception flags are back. May be nested; where nothing has to change it costs
/// two reads of a register (codec_bench: float_mode). Every function that computes for a user has
/// one around it: making a plan, starting a call, progress; and so has each thread that the library
/// starts.
class [[nodiscard]] DefaultFloatMode {
 public:
  DefaultFloatMode() noexcept;
  ~DefaultFloatMode();
  DefaultFloatMode(const DefaultFloatMode&) = delete;
  DefaultFloatMode& operator=(const DefaultFloatMode&) = delete;

 private:
#if defined(__x86_64__)
  std::uint32_t callers_;
#elif defined(__aarch64__)
  std::uint64_t callers_control_, callers_flags_;
#else
  std::fenv_t callers_;
#endif
};

// The memory clobbers keep what is computed, from memory to memory, on its side of the change.

#if defined(__x86_64__)

// All arithmetic of x86-64 but that of long double, which nothing here uses, obeys MXCSR: flags in
// bits 0 to 5, denormals are zero 6, masks of exceptions 7 to 12, rounding 13 and 14, flush to
// zero 15.

inline DefaultFloatMode::DefaultFloatMode() noexcept {
  constexpr std::uint32_t flags = 0x3f, all_masked = 0x1f80;
  asm volatile("stmxcsr %0" : "=m"(callers_) : : "memory");
  if ((callers_ & ~flags) == all_masked) return;
  const std::uint32_t mode = all_masked;
  asm volatile("ldmxcsr %0" : : "m"(mode) : "memory");
}

inline DefaultFloatMode::~DefaultFloatMode() {
  std::uint32_t now = 0;
  asm volatile("stmxcsr %0" : "=m"(now) : : "memory");
  if (now != callers_) asm volatile("ldmxcsr %0" : : "m"(callers_) : "memory");
}

#elif defined(__aarch64__)

// FPCR: 0 rounds to nearest, keeps denormals and NaNs, and traps nothing. FPSR: the flags.

inline DefaultFloatMode::DefaultFloatMode() noexcept {
  asm volatile("mrs %0, fpcr\n\tmrs %1, fpsr"
               : "=r"(callers_control_), "=r"(callers_flags_)
               :
               : "memory");
  if (callers_control_ != 0) asm volatile("msr fpcr, %0" : : "r"(std::uint64_t{0}) : "memory");
}

inline DefaultFloatMode::~DefaultFloatMode() {
  if (callers_control_ != 0) asm volatile("msr fpcr, %0" : : "r"(callers_control_) : "memory");
  asm volatile("msr fpsr, %0" : : "r"(callers_flags_) : "memory");
}

#else

inline DefaultFloatMode::DefaultFloatMode() noexcept {
  std::fegetenv(&callers_);
  std::fesetenv(FE_DFL_ENV);
}

inline DefaultFloatMode::~DefaultFloatMode() { std::fesetenv(&callers_); }

#endif

}  // namespace cohom
