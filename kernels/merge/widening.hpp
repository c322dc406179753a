#pragma once
// Adding payloads whose lanes have different widths: partial sums of few contributions have
// narrower lanes than those of many (docs/wire-format.md, "Lanes").

#include "kernels/core/body/lanes.hpp"
#include "kernels/core/hd.hpp"

#include <cstddef>
#include <cstdint>

namespace cohom::kernels {

/// Blocks of one size, and behind them at most one shorter block.
struct LaneBlocks {
  std::size_t values = 0;  ///< of a block
  std::size_t blocks = 0;
  std::size_t rest = 0;  ///< values of the shorter block; 0: there is none

  [[nodiscard]] COHOM_HD std::size_t words(unsigned width) const {
    return blocks * body::words_per_block(values, width) +
           (rest == 0 ? 0 : body::words_per_block(rest, width));
  }
};

struct LaneSource {
  const std::uint64_t* words = nullptr;
  unsigned width = 1;
};

}  // namespace cohom::kernels
