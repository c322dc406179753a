#include "device_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>

namespace cohom::ptx {
namespace {

constexpr std::size_t page = 4096, alignment = 256;

constexpr std::size_t rounded_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

void* map(int protection, int flags, int file) {
  void* const memory =
      mmap(nullptr, DeviceMemory::size, protection, flags | MAP_NORESERVE, file, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return memory;
}

}  // namespace

DeviceMemory& DeviceMemory::instance() {
  static DeviceMemory& memory = *new DeviceMemory();  // outlives everything that frees into it
  return memory;
}

DeviceMemory::DeviceMemory() {
  const int file = memfd_create("device of the PTX interpreter", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, off_t(size)) != 0) throw std::bad_alloc();
  device_ = reinterpret_cast<std::uintptr_t>(map(PROT_NONE, MAP_SHARED, file));
  view_ = static_cast<std::uint8_t*>(map(PROT_NONE, MAP_SHARED, file));
  state_ = static_cast<std::uint8_t*>(map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1));
}

/// The first gap with a page more, which nobody gets, on both sides; 0 when there is none.
std::size_t DeviceMemory::place_for(std::size_t pages) const {
  std::size_t end = page;
  for (const auto& [offset, piece] : pieces_) {
    if (offset >= end + pages + page) break;
    end = offset + piece.pages + page;
  }
  return end + pages + page <= size ? end : 0;
}

void* DeviceMemory::allocate(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > size) return nullptr;
  const std::size_t used = rounded_up(bytes, alignment), pages = rounded_up(used, page);
  const std::size_t offset = place_for(pages);
  if (offset == 0 || mprotect(view_ + offset, pages, PROT_READ | PROT_WRITE) != 0) return nullptr;
  const std::size_t first = offset + pages - used;
  pieces_[offset] = {pages, first};
  std::memset(view_ + first, 0xcd, used);
  std::memset(state_ + first, allocated, bytes);
  return reinterpret_cast<void*>(device_ + first);
}

bool DeviceMemory::free(void* memory) {
  const std::lock_guard lock(mutex_);
  if (!holds(memory)) return false;
  const std::size_t at = offset(memory);
  const auto piece = pieces_.find(at / page * page);
  if (piece == pieces_.end() || piece->second.first != at) return false;
  const std::size_t end = piece->first + piece->second.pages;
  std::memset(state_ + at, 0, end - at);
  madvise(view_ + piece->first, piece->second.pages, MADV_REMOVE);
  mprotect(view_ + piece->first, piece->second.pages, PROT_NONE);
  pieces_.erase(piece);
  return true;
}

std::uint8_t* DeviceMemory::whole(const void* address, std::size_t bytes) const {
  if (!holds(address) || bytes > size - offset(address)) return nullptr;
  const std::uint8_t* const first = state_ + offset(address);
  const auto free = [](std::uint8_t state) { return (state & allocated) == 0; };
  return std::any_of(first, first + bytes, free) ? nullptr : view_ + offset(address);
}

void DeviceMemory::add_pinned(void* memory, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  pinned_[reinterpret_cast<std::uintptr_t>(memory)] = bytes;
}

bool DeviceMemory::remove_pinned(void* memory) {
  const std::lock_guard lock(mutex_);
  return pinned_.erase(reinterpret_cast<std::uintptr_t>(memory)) != 0;
}

bool DeviceMemory::is_pinned(const void* address, std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  auto piece = pinned_.upper_bound(at);
  if (piece == pinned_.begin()) return false;
  piece = std::prev(piece);
  return at + bytes <= piece->first + piece->second;
}

}  // namespace cohom::ptx
