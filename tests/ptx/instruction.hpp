#pragma once
// One decoded instruction.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace cohom::ptx {

struct Thread;
struct Instruction;

/// What an instruction does to the thread that runs it.
using Handler = void (*)(Thread&, const Instruction&);

enum class Space : std::uint8_t { generic, global, shared, local, parameter };

/// Generic addresses of other spaces begin here; those of global memory are the device's.
inline constexpr std::uint64_t shared_window = 1ull << 60, local_window = 2ull << 60,
                               parameter_window = 3ull << 60, window_mask = 15ull << 60;

/// Registers, constants and special registers are slots of a thread.
using Slot = std::int32_t;
inline constexpr Slot no_slot = -1;

/// Values of a vector that one access moves.
inline constexpr std::size_t max_parts = 8;

struct Instruction {
  Handler run = nullptr;
  std::int64_t offset = 0;       ///< of an address; the target of a jump
  Slot guard = no_slot;          ///< the instruction runs if this predicate is true,
  bool guard_inverted = false;   ///< or if it is false
  bool second_inverted = false;  ///< the predicate that a comparison is combined with
  bool narrow_address = false;   ///< from a register of 32 bits
  bool saturates = false;
  std::uint8_t parts = 1;  ///< of a vector
  std::uint8_t width = 8;  ///< bytes of the destination's registers
  Space space = Space::generic;
  std::uint8_t variant = 0;  ///< what the handler makes of it: a comparison, a rounding
  std::array<Slot, max_parts> to = {no_slot, no_slot, no_slot, no_slot,
                                    no_slot, no_slot, no_slot, no_slot};
  std::array<Slot, max_parts + 1> from = {no_slot, no_slot, no_slot, no_slot, no_slot,
                                          no_slot, no_slot, no_slot, no_slot};
};

/// Where an instruction stands, for messages, and what is rarely asked for.
struct Origin {
  std::string text;
  std::uint32_t line = 0;         ///< in the PTX
  std::uint32_t source_file = 0;  ///< by number
  std::uint32_t source_line = 0;
};

}  // namespace cohom::ptx
