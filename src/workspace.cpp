#include "workspace.hpp"

#include <sys/mman.h>

#include <cstring>
#include <limits>
#include <new>

namespace cohom {

namespace {
constexpr std::size_t huge_page = std::size_t{2} << 20;
}

Workspace::Workspace(std::size_t words) : count_(words) {
  if (words == 0) return;
  const std::size_t unit = words * 8 >= huge_page ? huge_page : 4096;
  const std::size_t bytes = (words * 8 + unit - 1) / unit * unit;
  void* pointer = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pointer == MAP_FAILED) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  if (unit == huge_page)
    madvise(pointer, bytes, MADV_HUGEPAGE);  // a hint; refusal only costs speed
#endif
  std::memset(pointer, 0, bytes);
  words_ =
      std::unique_ptr<std::uint64_t, Unmap>(static_cast<std::uint64_t*>(pointer), Unmap{bytes});
}

void expect_room_for(std::size_t words) {
  if (words == 0) return;
  if (words > std::numeric_limits<std::ptrdiff_t>::max() / 8) throw std::bad_alloc();
  void* pointer =
      mmap(nullptr, words * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pointer == MAP_FAILED) throw std::bad_alloc();
  munmap(pointer, words * 8);
}

void Workspace::Unmap::operator()(std::uint64_t* pointer) const { munmap(pointer, bytes); }

}  // namespace cohom
