#pragma once
// CopyChoice: whether words for another process are written through the caches, or past them.
//
// Where two cores share a cache, the receiver reads there what was written. Where they do not, each
// line that the other core has read must be taken back from it before it is written: on a processor
// with several last-level caches that took 27 ms for 64 MiB, and 4 past the caches. Neither the
// topology that a virtual machine tells nor the place of a process says which it is, and both may
// change. So copies are timed.

#include <array>
#include <cstddef>
#include <cstdint>

namespace cohom {

class CopyChoice {
 public:
  /// Whether the next copy should go past the caches.
  [[nodiscard]] bool next();
  /// How long the copy took that next() was asked for.
  void took(bool past_caches, std::size_t bytes, std::uint64_t nanoseconds);

 private:
  static constexpr std::size_t samples = 4;
  /// The best of the last few copies: others may have been interrupted.
  struct Rate {
    std::array<double, samples> bytes_a_nanosecond{};
    std::size_t count = 0;
    [[nodiscard]] double best() const;
  };
  static constexpr std::size_t shortest_wait = 16, longest_wait = 512;

  [[nodiscard]] bool is_better_past_caches() const;

  Rate through_, past_;
  bool past_caches_ = false;          ///< the choice
  std::size_t copies_ = 0;            ///< since the other way was tried
  std::size_t wait_ = shortest_wait;  ///< copies until it is tried again
};

/// Copies past the caches; `to` is aligned to 16 bytes. What is written is seen by whoever reads a
/// word that this thread releases later.
void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes);
/// Whether this processor has such writes.
[[nodiscard]] bool has_copies_past_caches();

}  // namespace cohom
