#include "decoder.hpp"

#include "fault.hpp"
#include "opcode.hpp"
#include "operand_reader.hpp"
#include "ptx/operations/find_handler.hpp"
#include "symbol_table.hpp"
#include "text.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace cohom::ptx {
namespace {

using Kind = Statement::Kind;

class Decoder {
 public:
  explicit Decoder(Kernel& kernel) : kernel_(kernel), symbols_(kernel) {}

  void decode(const std::vector<Statement>& statements) {
    for (const Statement& statement : statements) take(statement);
    resolve_jumps();
    add(leaving(), {"(end)", 0, 0, 0});
    kernel_.times.assign(kernel_.code.size(), 0);
  }

 private:
  void take(const Statement& statement) {
    switch (statement.kind) {
      case Kind::header: return take_header(statement.text);
      case Kind::open: return symbols_.open_scope();
      case Kind::close: return symbols_.close_scope();
      case Kind::label: labels_[statement.text] = next(); return;
      case Kind::file: return;
      case Kind::simple:
        if (statement.text.starts_with('.'))
          take_directive(statement.text);
        else if (!statement.text.empty())
          take_instruction(statement);
    }
  }

  void take_header(std::string_view text) {
    const std::size_t open = text.find('('), close = text.find(')');
    if (open != std::string::npos && close != std::string::npos)
      for (const std::string& one : list_of(text.substr(open + 1, close - open - 1)))
        symbols_.declare_parameter(one);
    const std::vector<std::string> words =
        words_of(close == std::string::npos ? text : text.substr(close + 1));
    for (std::size_t i = 0; i + 1 < words.size(); ++i)
      if (words[i] == ".maxntid")
        kernel_.max_threads = static_cast<unsigned>(number_in(words[i + 1]).value_or(0));
  }

  void take_directive(const std::string& text) {
    if (text.starts_with(".reg"))
      symbols_.declare_registers(text);
    else if (text.starts_with(".shared"))
      symbols_.declare_shared(text);
    else if (text.starts_with(".local"))
      symbols_.declare_local(text);
    else if (text.starts_with(".branchtargets"))
      declare_targets(text.substr(std::string_view(".branchtargets").size()));
    else if (!text.starts_with(".pragma"))
      throw Fault("directive " + text);
  }
  /// They stand behind their label.
  void declare_targets(std::string_view list) {
    for (const auto& [label, at] : labels_)
      if (at == next()) target_lists_[label] = list_of(list);
  }

  void take_instruction(const Statement& statement) {
    Instruction instruction;
    Origin origin{statement.text, statement.line, statement.source_file, statement.source_line};
    try {
      read_instruction(statement.text, instruction);
    } catch (const std::exception& error) {
      instruction.run = unsupported();
      origin.text += std::string(" (") + error.what() + ")";
    }
    if (instruction.run == unsupported()) ++kernel_.complaints["not supported: " + origin.text];
    add(instruction, std::move(origin));
  }

  /// "@!%p1 bra $L2"
  void read_instruction(std::string_view text, Instruction& instruction) {
    std::string rest(text);
    if (rest.starts_with('@')) {
      const std::size_t end = rest.find_first_of(" \t");
      instruction.guard_inverted = rest[1] == '!';
      const std::size_t name = instruction.guard_inverted ? 2 : 1;
      instruction.guard = symbols_.slot_of(rest.substr(name, end - name));
      rest = trimmed(std::string_view(rest).substr(end));
    }
    const std::size_t end = rest.find_first_of(" \t");
    Opcode opcode(rest.substr(0, end));
    const auto operands =
        end == std::string::npos ? std::vector<std::string>{} : list_of(rest.substr(end));
    if (opcode.name() == "bra") {
      jumps_.emplace_back(next(), operands.at(0));
    } else if (opcode.name() == "brx") {
      instruction.from[0] = symbols_.slot_of(operands.at(0));
      table_jumps_.emplace_back(next(), operands.at(1));
    } else {
      OperandReader(symbols_, instruction).read(opcode, operands);
    }
    instruction.run = find_handler(opcode, instruction);
  }

  [[nodiscard]] std::uint32_t target(const std::string& label) const {
    const auto found = labels_.find(label);
    if (found == labels_.end()) throw Fault("no label " + label + " in " + kernel_.name);
    return found->second;
  }
  void resolve_jumps() {
    for (const auto& [index, label] : jumps_) kernel_.code[index].offset = target(label);
    for (const auto& [index, list] : table_jumps_) {
      const auto labels = target_lists_.find(list);
      if (labels == target_lists_.end()) throw Fault("no targets " + list + " in " + kernel_.name);
      kernel_.code[index].offset = static_cast<std::int64_t>(kernel_.jump_tables.size());
      std::vector<std::uint32_t>& table = kernel_.jump_tables.emplace_back();
      for (const std::string& label : labels->second) table.push_back(target(label));
    }
  }

  static Instruction leaving() {
    Instruction instruction;
    instruction.run = find_handler(Opcode("ret"), instruction);
    return instruction;
  }
  void add(const Instruction& instruction, Origin origin) {
    kernel_.code.push_back(instruction);
    kernel_.origins.push_back(std::move(origin));
  }
  [[nodiscard]] std::uint32_t next() const {
    return static_cast<std::uint32_t>(kernel_.code.size());
  }

  Kernel& kernel_;
  SymbolTable symbols_;
  std::unordered_map<std::string, std::uint32_t> labels_;
  std::unordered_map<std::string, std::vector<std::string>> target_lists_;
  std::vector<std::pair<std::uint32_t, std::string>> jumps_, table_jumps_;
};

}  // namespace

void decode(Kernel& kernel, const std::vector<Statement>& statements) {
  Decoder(kernel).decode(statements);
}

}  // namespace cohom::ptx
