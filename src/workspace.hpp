#pragma once
// Workspace: the words a plan needs, taken once and kept.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace cohom {

/// Zeroed, aligned to a page. Large ones ask for huge pages. They are touched when made, so that
/// no call pays for page faults (which cost native per-call scratch half its speed).
class Workspace {
 public:
  Workspace() = default;
  explicit Workspace(std::size_t words);

  [[nodiscard]] std::uint64_t* data() const { return words_.get(); }
  [[nodiscard]] std::size_t words() const { return count_; }

 private:
  struct Unmap {
    std::size_t bytes;
    void operator()(std::uint64_t* pointer) const;
  };
  std::unique_ptr<std::uint64_t, Unmap> words_{nullptr, Unmap{0}};
  std::size_t count_ = 0;
};

/// @throws std::bad_alloc when the machine can never give so many words. Touches nothing, so that an
/// absurd size is an error at once, and not after lists of its pieces have filled the memory.
void expect_room_for(std::size_t words);

}  // namespace cohom
