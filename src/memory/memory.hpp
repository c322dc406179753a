#pragma once
// Memory: what code that does not know where elements lie may do with them.
//
// The elements of a call and the words of its payload lie in one memory space. Kernels of that
// space work on them; whoever else wants to copy, clear or look at some goes through here.

#include <cohom/memory_space.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace cohom {

/// Everything happens in order with the kernels of the space that are started before and after.
class Memory {
 public:
  virtual ~Memory() = default;
  [[nodiscard]] virtual MemorySpace space() const = 0;
  [[nodiscard]] bool is_host() const { return space() != MemorySpace::cuda; }

  /// Zeros, aligned to a page. @throws std::bad_alloc or Error(memory)
  [[nodiscard]] virtual std::byte* allocate(std::size_t bytes) = 0;
  virtual void free(std::byte* memory, std::size_t bytes) noexcept = 0;

  /// Within the space; the two do not overlap.
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  virtual void zero(void* to, std::size_t bytes) = 0;
  /// From the space to the host; blocks until it is there.
  virtual void to_host(void* to, const void* from, std::size_t bytes) = 0;
  /// The same of several runs of equal length, side by side.
  virtual void gather_to_host(void* to, std::span<const void* const> from, std::size_t bytes) = 0;
  /// From the host to the space; `from` may change at once.
  virtual void from_host(void* to, const void* from, std::size_t bytes) = 0;
};

/// The processor's own. Large pieces ask for huge pages, and all are touched when they are taken,
/// so that no call pays for page faults (which cost native per-call scratch half its speed).
Memory& host_memory();

/// @throws std::bad_alloc when the machine can never give so many words. Touches nothing, so that
/// an absurd size is an error at once, and not after lists of its pieces have filled the memory.
/// Less than 2 MiB is not asked for.
void expect_capacity(std::size_t words);

/// Words := so many bytes of elements, and zeros up to the end of the words.
void copy_to_words(Memory& memory, std::span<std::uint64_t> words, const void* elements,
                   std::size_t bytes);

/// Zeros of T somewhere, taken once and kept.
template <class T>
class MemoryArray {
 public:
  MemoryArray() = default;
  MemoryArray(Memory& memory, std::size_t count)
      : memory_(&memory),
        data_(count == 0 ? nullptr : reinterpret_cast<T*>(memory.allocate(count * sizeof(T)))),
        count_(count) {}
  MemoryArray(MemoryArray&& other) noexcept { swap(other); }
  MemoryArray& operator=(MemoryArray&& other) noexcept {
    MemoryArray(std::move(other)).swap(*this);
    return *this;
  }
  ~MemoryArray() {
    if (data_ != nullptr) memory_->free(reinterpret_cast<std::byte*>(data_), count_ * sizeof(T));
  }

  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] std::span<std::byte> bytes() const {
    return std::as_writable_bytes(std::span(data_, count_));
  }

 private:
  void swap(MemoryArray& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
  }

  Memory* memory_ = nullptr;  ///< outlives this
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace cohom
