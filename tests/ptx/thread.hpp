#pragma once
// A block of threads while it runs.

#include "kernel.hpp"
#include "race_marks.hpp"

#include <cstdint>
#include <vector>

namespace cohom::ptx {

inline constexpr unsigned warp_size = 32;

struct Block {
  Kernel* kernel = nullptr;
  std::uint32_t launch = 0;  ///< number of the launch
  std::uint32_t number = 0, blocks = 0, threads = 0;
  std::uint32_t phase = 0;                 ///< barriers so far
  std::vector<std::uint32_t> warp_phases;  ///< of each warp, the block's included
  const std::uint8_t* parameters = nullptr;
  std::vector<std::uint8_t> shared;
  std::vector<std::uint8_t> shared_written;  ///< of each byte, whether somebody wrote it
  std::vector<ByteMarks> shared_marks;       ///< empty when races are not looked for
};

struct Thread {
  enum class State : std::uint8_t { runs, waits_for_block, waits_for_warp, done };

  std::uint64_t* slots = nullptr;
  Block* block = nullptr;
  std::uint8_t* local = nullptr;
  std::uint32_t next = 0;  ///< index of the next instruction
  std::uint16_t number = 0;
  State state = State::runs;
  bool carry = false;

  [[nodiscard]] unsigned warp() const { return number / warp_size; }
};

}  // namespace cohom::ptx
