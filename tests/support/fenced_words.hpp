#pragma once
// FencedWords: 64-bit words that end where memory ends, so that reading or writing behind them
// faults, whatever instruction does it.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <utility>

namespace cohom::test {

class FencedWords {
 public:
  explicit FencedWords(std::size_t words) : size_(words) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t capacity = (words * 8 + page - 1) / page * page;
    mapped_ = capacity + page;
    void* const memory =
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<std::byte*>(memory);
    mprotect(memory_ + capacity, page, PROT_NONE);
    start_ = memory_ + capacity - words * 8;
  }
  explicit FencedWords(std::span<const std::uint64_t> words) : FencedWords(words.size()) {
    if (!words.empty()) std::memcpy(start_, words.data(), words.size_bytes());
  }
  FencedWords(FencedWords&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)),
        start_(other.start_),
        mapped_(other.mapped_),
        size_(other.size_) {}
  FencedWords& operator=(FencedWords&&) = delete;
  ~FencedWords() {
    if (memory_ != nullptr) munmap(memory_, mapped_);
  }

  [[nodiscard]] std::uint64_t* data() { return reinterpret_cast<std::uint64_t*>(start_); }
  [[nodiscard]] const std::uint64_t* data() const {
    return reinterpret_cast<const std::uint64_t*>(start_);
  }
  [[nodiscard]] std::span<const std::uint64_t> words() const { return {data(), size_}; }

 private:
  std::byte* memory_;
  std::byte* start_ = nullptr;
  std::size_t mapped_ = 0;
  std::size_t size_;
};

}  // namespace cohom::test
