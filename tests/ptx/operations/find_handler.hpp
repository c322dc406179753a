#pragma once
// What an opcode does (PTX ISA 9.0), by kinds of opcodes.

#include "ptx/instruction.hpp"
#include "ptx/opcode.hpp"

namespace cohom::ptx {

/// For an instruction whose operands are read; may set its variant. unsupported() for what it does
/// not know.
Handler find_handler(const Opcode& opcode, Instruction& instruction);

/// Throws a Fault that names the instruction.
Handler unsupported();

// Each gives null for opcodes of other kinds, and for forms of its own that it does not know.
Handler find_arithmetic(const Opcode& opcode, Instruction& instruction);
Handler find_unary(const Opcode& opcode, Instruction& instruction);
Handler find_wide(const Opcode& opcode, Instruction& instruction);  ///< products and carries
Handler find_bits(const Opcode& opcode, Instruction& instruction);
Handler find_bit_fields(const Opcode& opcode, Instruction& instruction);
Handler find_comparison(const Opcode& opcode, Instruction& instruction);
Handler find_move(const Opcode& opcode, Instruction& instruction);
Handler find_conversion(const Opcode& opcode, Instruction& instruction);
Handler find_memory(const Opcode& opcode, Instruction& instruction);
Handler find_control(const Opcode& opcode, Instruction& instruction);

}  // namespace cohom::ptx
