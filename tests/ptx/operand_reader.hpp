#pragma once
// OperandReader: the operands of one instruction, by the opcode's syntax.

#include "instruction.hpp"
#include "opcode.hpp"
#include "symbol_table.hpp"

#include <string>
#include <vector>

namespace cohom::ptx {

class OperandReader {
 public:
  OperandReader(SymbolTable& symbols, Instruction& instruction)
      : symbols_(symbols), instruction_(instruction) {}

  /// Fills in slots, offsets and the space. `mov` of vectors becomes "pack" or "unpack", `cvta`
  /// "window". Labels of jumps are the caller's. @throws Fault, std::out_of_range for what it does
  /// not know
  void read(Opcode& opcode, const std::vector<std::string>& operands);

 private:
  void read_access(const Opcode& opcode, const std::vector<std::string>& operands);
  void read_barrier(const Opcode& opcode, const std::vector<std::string>& operands);
  bool read_vector_move(Opcode& opcode, const std::vector<std::string>& operands);
  void read_window(Opcode& opcode, const std::vector<std::string>& operands);

  void destination(const std::string& text);
  /// A value, or the parts of a vector; from this place on.
  void source(const std::string& text, std::size_t place);
  void address(const std::string& text);

  SymbolTable& symbols_;
  Instruction& instruction_;
};

}  // namespace cohom::ptx
