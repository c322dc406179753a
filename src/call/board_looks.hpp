#pragma once
// BoardLooks: how often a rank that has a core looks for the others' words before it yields.

#include <algorithm>
#include <cstdint>

namespace cohom {

/// Where each rank has a core the others come soon, and a yield takes as long as a call of a few
/// bytes. But a rank that shares a core all the same, since other programs have the rest, keeps the
/// others from coming while it looks.
class BoardLooks {
 public:
  /// At most so many, in the call that begins.
  [[nodiscard]] int most() {
    has_many_ = in_vain_ < most_in_vain || ++calls_with_few_ % calls_a_try == 0;
    return has_many_ ? many : few;
  }
  /// After `looks` of them in vain the next one saw all that it looked for, or there was none. Who
  /// comes last sees all at once, which says nothing of the others.
  void ended(int looks) {
    if (looks >= many)
      in_vain_ = std::min(in_vain_ + 1, most_in_vain);
    else if (looks >= few && has_many_)
      in_vain_ = 0;
  }

 private:
  static constexpr int many = 1000, few = 20;
  static constexpr int most_in_vain = 4;  ///< calls, since one that saw more with many looks
  static constexpr std::uint32_t calls_a_try = 64;

  int in_vain_ = 0;
  std::uint32_t calls_with_few_ = 0;
  bool has_many_ = true;
};

}  // namespace cohom
