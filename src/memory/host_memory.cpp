#include "memory/memory.hpp"

#include <sys/mman.h>

#include <cstring>
#include <limits>
#include <new>

namespace cohom {

namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;

std::size_t whole_pages(std::size_t bytes) {
  const std::size_t unit = bytes >= huge_page ? huge_page : 4096;
  return (bytes + unit - 1) / unit * unit;
}

class HostMemory final : public Memory {
 public:
  [[nodiscard]] MemorySpace space() const override { return MemorySpace::host; }

  [[nodiscard]] std::byte* allocate(std::size_t bytes) override {
    if (bytes > std::numeric_limits<std::ptrdiff_t>::max() - huge_page) throw std::bad_alloc();
    const std::size_t whole = whole_pages(bytes);
    void* const memory =
        mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    if (bytes >= huge_page)
      madvise(memory, whole, MADV_HUGEPAGE);  // a hint; refusal only costs speed
#endif
    std::memset(memory, 0, whole);
    return static_cast<std::byte*>(memory);
  }
  void free(std::byte* memory, std::size_t bytes) noexcept override {
    munmap(memory, whole_pages(bytes));
  }

  void copy(void* to, const void* from, std::size_t bytes) override {
    if (bytes != 0) std::memcpy(to, from, bytes);
  }
  void zero(void* to, std::size_t bytes) override {
    if (bytes != 0) std::memset(to, 0, bytes);
  }
  void to_host(void* to, const void* from, std::size_t bytes) override { copy(to, from, bytes); }
  void gather_to_host(void* to, std::span<const void* const> from, std::size_t bytes) override {
    for (std::size_t i = 0; i < from.size(); ++i)
      to_host(static_cast<std::byte*>(to) + i * bytes, from[i], bytes);
  }
  void from_host(void* to, const void* from, std::size_t bytes) override { copy(to, from, bytes); }
};

}  // namespace

Memory& host_memory() {
  static HostMemory memory;
  return memory;
}

void expect_capacity(std::size_t words) {
  constexpr std::size_t ordinary = huge_page / 8;  // not worth two calls of the system
  if (words < ordinary) return;
  if (words > std::numeric_limits<std::ptrdiff_t>::max() / 8) throw std::bad_alloc();
  void* const memory =
      mmap(nullptr, words * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  munmap(memory, words * 8);
}

void copy_to_words(Memory& memory, std::span<std::uint64_t> words, const void* elements,
                   std::size_t bytes) {
  auto* const to = reinterpret_cast<std::byte*>(words.data());
  if (bytes != words.size_bytes()) memory.zero(to + bytes, words.size_bytes() - bytes);
  memory.copy(to, elements, bytes);
}

}  // namespace cohom
