#include "failing_memory.hpp"

#include <malloc.h>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace cohom::test {

constinit thread_local long allocations_left = -1;
constinit std::atomic<long> others_allocations_left = -1;
constinit thread_local bool spared = false;
constinit std::atomic<long> allocations_failed = 0;

}  // namespace cohom::test

namespace {

bool fails_now() {
  using namespace cohom::test;
  const bool own = allocations_left >= 0 && allocations_left-- == 0;
  const bool anybodys = !spared && others_allocations_left >= 0 && others_allocations_left-- == 0;
  if (own || anybodys) ++allocations_failed;
  return own || anybodys;
}

}  // namespace

#if defined(__GNUC__) && !defined(__clang__)  // it sees operator new through its inlined callers
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* const memory = fails_now() ? nullptr : std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  void* const memory = fails_now() ? nullptr : memalign(std::size_t(alignment), bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
// Sanitizers have an operator of their own for these, too, whose memory they let nobody else free.
[[gnu::noinline]] void* operator new[](std::size_t bytes) { return operator new(bytes); }
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return fails_now() ? nullptr : std::malloc(bytes);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/// Of workspaces and states.
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return fails_now() ? nullptr : memalign(alignment, bytes);
}
#endif
