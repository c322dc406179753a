#pragma once
// A kernel as it is run.

#include "instruction.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace cohom::ptx {

class Module;

/// Slots that a thread finds filled.
enum class Special : std::uint8_t {
  thread,       ///< %tid.x
  threads,      ///< %ntid.x
  block,        ///< %ctaid.x
  blocks,       ///< %nctaid.x
  lane,         ///< %laneid
  warp,         ///< %warpid
  zero,         ///< %tid and %ctaid of the dimensions that are not modelled
  one,          ///< %ntid and %nctaid of those
  lanes_below,  ///< %lanemask_lt
  lanes_up_to,  ///< %lanemask_le
  own_lane,     ///< %lanemask_eq
  lanes_from,   ///< %lanemask_ge
  lanes_above,  ///< %lanemask_gt
};

struct Kernel {
  struct Parameter {
    std::size_t offset, bytes;
  };
  struct SpecialSlot {
    Slot slot;
    Special special;
  };

  const Module* module = nullptr;
  std::string name;  ///< mangled

  std::vector<Instruction> code;  ///< ends with one that leaves
  std::vector<Origin> origins;    ///< of each instruction
  std::vector<std::vector<std::uint32_t>> jump_tables;
  std::vector<std::uint64_t> first_slots;  ///< what a thread's slots hold at its start
  std::vector<SpecialSlot> specials;
  std::vector<Parameter> parameters;
  std::size_t parameter_bytes = 0, shared_bytes = 0, local_bytes = 0;
  unsigned max_threads = 1024;

  // What is counted.
  std::vector<std::uint64_t> times;  ///< of each instruction
  std::uint64_t launches = 0, blocks = 0, steps = 0;
  std::size_t edits = 0;  ///< of its text, on purpose
  std::map<std::string, std::uint64_t> complaints;

  [[nodiscard]] const Origin& origin(const Instruction& instruction) const {
    return origins[static_cast<std::size_t>(&instruction - code.data())];
  }
};

}  // namespace cohom::ptx
