#pragma once
// Memory in huge pages where the system has them, so that large vectors measure kernels and not
// page tables. Zeroed.

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

namespace cohom::bench {

class HugeBuffer {
 public:
  explicit HugeBuffer(std::size_t size) : size_(size) {
    constexpr std::size_t page = std::size_t{2} << 20;
    const std::size_t bytes = (size + page) / page * page;
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(page, bytes)));
    if (memory_ == nullptr) throw std::bad_alloc();
    madvise(memory_.get(), bytes, MADV_HUGEPAGE);  // a wish: where it fails, pages are small
    std::memset(memory_.get(), 0, bytes);
  }

  [[nodiscard]] std::byte* data() { return memory_.get(); }
  [[nodiscard]] std::uint64_t* words() { return reinterpret_cast<std::uint64_t*>(memory_.get()); }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t size_;
};

}  // namespace cohom::bench
