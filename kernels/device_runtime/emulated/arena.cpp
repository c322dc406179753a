#include "kernels/device_runtime/emulated/arena.hpp"

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <iterator>
#include <new>

namespace cohom::kernels::device {
namespace {

constexpr std::size_t page = 4096;
/// As CUDA aligns; so up to 255 bytes behind an allocation are not its own and do not fault, but
/// under the address sanitizer.
constexpr std::size_t alignment = 256;

constexpr std::size_t rounded_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

void* map(std::size_t bytes, int file) {
  void* const memory = mmap(nullptr, bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return memory;
}

}  // namespace

Arena& Arena::instance() {
  static Arena& arena = *new Arena();  // outlives everything that frees into it
  return arena;
}

Arena::Arena() : file_(memfd_create("emulated device", MFD_CLOEXEC)) {
  if (file_ < 0 || ftruncate(file_, off_t(size)) != 0) throw std::bad_alloc();
  device_ = reinterpret_cast<std::uintptr_t>(map(size, file_));
  view_ = reinterpret_cast<std::uintptr_t>(map(size, file_));
}

void Arena::set_capacity(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  capacity_ = bytes;
}

std::size_t Arena::allocated() const {
  const std::lock_guard lock(mutex_);
  return allocated_;
}

/// The first gap with a page more, which nobody gets, on both sides.
std::size_t Arena::place_for(std::size_t pages) const {
  std::size_t end = page;
  for (const auto& [offset, piece] : pieces_) {
    if (offset >= end + pages + page) break;
    end = offset + piece.pages + page;
  }
  return end + pages + page <= size ? end : 0;
}

void* Arena::allocate(std::size_t bytes, int device) {
  const std::lock_guard lock(mutex_);
  const std::size_t used = rounded_up(bytes, alignment);
  const std::size_t pages = rounded_up(used, page);
  if (bytes > capacity_ || allocated_ > capacity_ - bytes) return nullptr;
  const std::size_t offset = place_for(pages);
  if (offset == 0) return nullptr;
  auto* const memory = reinterpret_cast<std::byte*>(view_ + offset);
  if (mprotect(memory, pages, PROT_READ | PROT_WRITE) != 0) return nullptr;
  pieces_[offset] = {pages, bytes, device};
  allocated_ += bytes;
  const std::size_t first = pages - used;
  ASAN_UNPOISON_MEMORY_REGION(memory, pages);
  std::memset(memory + first, 0xcd, used);
  ASAN_POISON_MEMORY_REGION(memory, first);
  ASAN_POISON_MEMORY_REGION(memory + first + bytes, used - bytes);
  return reinterpret_cast<void*>(device_ + offset + first);
}

bool Arena::free(void* memory) {
  const std::lock_guard lock(mutex_);
  const std::size_t offset = (reinterpret_cast<std::uintptr_t>(memory) - device_) / page * page;
  const auto piece = pieces_.find(offset);
  if (!holds(memory) || piece == pieces_.end()) return false;
  void* const pages = reinterpret_cast<void*>(view_ + offset);
  ASAN_UNPOISON_MEMORY_REGION(pages, piece->second.pages);
  madvise(pages, piece->second.pages, MADV_REMOVE);
  mprotect(pages, piece->second.pages, PROT_NONE);
  allocated_ -= piece->second.bytes;
  pieces_.erase(piece);
  return true;
}

int Arena::device_of(const void* address) const {
  if (!holds(address)) return -1;
  const std::lock_guard lock(mutex_);
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(address) - device_;
  auto piece = pieces_.upper_bound(offset);
  if (piece == pieces_.begin()) return -1;
  piece = std::prev(piece);
  return offset < piece->first + piece->second.pages ? piece->second.device : -1;
}

}  // namespace cohom::kernels::device
