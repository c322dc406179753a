#include "find_handler.hpp"

#include "ptx/fault.hpp"
#include "ptx/thread.hpp"

namespace cohom::ptx {
namespace {

void run_unsupported(Thread& thread, const Instruction& instruction) {
  throw Fault("not supported: " + thread.block->kernel->origin(instruction).text);
}

/// What the project's kernels must not have (scripts/cuda-check), so nothing here gives it.
bool is_approximate(const Opcode& opcode) {
  return opcode.has("ftz") || opcode.has("approx") || opcode.has("full");
}

}  // namespace

Handler unsupported() { return &run_unsupported; }

Handler find_handler(const Opcode& opcode, Instruction& instruction) {
  if (is_approximate(opcode)) return unsupported();
  for (const auto find : {find_arithmetic, find_unary, find_wide, find_bits, find_bit_fields,
                          find_comparison, find_move, find_conversion, find_memory, find_control})
    if (const Handler found = find(opcode, instruction); found != nullptr) return found;
  return unsupported();
}

}  // namespace cohom::ptx
