#pragma once
// HostWindow: a short run of elements where the processor can work on it: the elements themselves
// where they lie in its memory, else a copy. For what is rare, or too small for a kernel of its
// own.

#include "memory/memory.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace cohom {

class HostWindow {
 public:
  /// Bytes of the longest run.
  static constexpr std::size_t max_bytes = std::size_t{128} << 10;

  explicit HostWindow(Memory& memory) : memory_(memory), copy_(memory.is_host() ? 0 : max_bytes) {}

  /// The run at `from`; valid until the next use.
  [[nodiscard]] const std::byte* read(const std::byte* from, std::size_t bytes) {
    if (memory_.is_host()) return from;
    memory_.to_host(copy_.data(), from, bytes);
    return copy_.data();
  }

  /// Where to write what write() then brings to `to`.
  [[nodiscard]] std::byte* scratch_for(std::byte* to) {
    return memory_.is_host() ? to : copy_.data();
  }
  void write(std::byte* to, std::size_t bytes) {
    if (!memory_.is_host()) memory_.from_host(to, copy_.data(), bytes);
  }

  /// Calls visit(elements before the run, its elements) for so many elements of at most eight
  /// bytes.
  template <class Visit>
  static void for_each_run(std::size_t elements, Visit&& visit) {
    constexpr std::size_t max_elements = max_bytes / 8;
    for (std::size_t done = 0; done < elements; done += max_elements)
      visit(done, std::min(max_elements, elements - done));
  }

 private:
  Memory& memory_;
  std::vector<std::byte> copy_;
};

}  // namespace cohom
