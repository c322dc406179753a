#pragma once
// Blocks of signs as kernels work on them: 16 threads a block, each with a word of its signs, and
// so with every 16th element. All that lie side by side in memory are read and written side by
// side.

#include "kernels/core/hd.hpp"
#include "kernels/device_runtime/device_context.hpp"
#include "kernels/device_runtime/elements.hpp"
#include "kernels/sign/body/sign.hpp"
#include "kernels/sign/sign.hpp"

#include <cstddef>
#include <cstdint>

namespace cohom::kernels::device {

inline constexpr unsigned sign_columns = 16;
inline constexpr unsigned sign_threads = 256;
inline constexpr std::size_t sign_blocks_of_tile = sign_threads / sign_columns;

/// One block of a run.
struct SignBlockPosition {
  std::size_t number;
  std::size_t first;  ///< element of the run
  unsigned count;     ///< 0: behind the last one
  unsigned padded;

  [[nodiscard]] COHOM_HD unsigned words(unsigned width) const {
    return static_cast<unsigned>(body::words_per_block(padded, width));
  }
  /// All blocks before this one are whole.
  [[nodiscard]] COHOM_HD std::size_t words_before(unsigned width) const {
    return number * body::words_per_block(sign_block, width);
  }
};

/// Block `number` of a run of `count` elements.
COHOM_HD inline SignBlockPosition sign_block_at(std::size_t number, std::size_t count) {
  const std::size_t first = number * sign_block;
  if (first >= count) return {number, first, 0, 16};
  const std::size_t left = count - first;
  if (left >= sign_block)
    return {number, first, static_cast<unsigned>(sign_block), static_cast<unsigned>(sign_block)};
  return {number, first, static_cast<unsigned>(left),
          static_cast<unsigned>(body::padded_signs(left))};
}

}  // namespace cohom::kernels::device
