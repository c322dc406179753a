#include "operand_reader.hpp"

#include "fault.hpp"
#include "text.hpp"

namespace cohom::ptx {
namespace {

Space space_of(const Opcode& opcode) {
  if (opcode.has("global") || opcode.has("const")) return Space::global;
  if (opcode.has("shared") || opcode.has("shared::cta")) return Space::shared;
  if (opcode.has("local")) return Space::local;
  if (opcode.has("param") || opcode.has("param::entry")) return Space::parameter;
  return Space::generic;
}

/// Of "{a, b}" or "[a]".
std::string_view inside(std::string_view text) { return text.substr(1, text.size() - 2); }

std::vector<std::string> parts_of(const std::string& vector) {
  std::vector<std::string> parts = list_of(inside(vector));
  if (parts.empty() || parts.size() > max_parts) throw Fault("vector " + vector);
  return parts;
}

}  // namespace

void OperandReader::read(Opcode& opcode, const std::vector<std::string>& operands) {
  if (opcode.is_one_of({"ld", "ldu", "st", "atom", "red"})) return read_access(opcode, operands);
  if (opcode.is_one_of({"prefetch", "prefetchu"})) return;
  if (opcode.is_one_of({"bar", "barrier"})) return read_barrier(opcode, operands);
  if (opcode.name() == "call") throw Fault("call");
  if (operands.empty()) return;
  if (opcode.name() == "mov" && read_vector_move(opcode, operands)) return;
  if (opcode.name() == "cvta") return read_window(opcode, operands);
  destination(operands[0]);
  for (std::size_t i = 1; i < operands.size(); ++i) {
    const bool inverted = opcode.name() == "setp" && operands[i].starts_with('!');
    if (inverted) instruction_.second_inverted = true;
    source(operands[i].substr(inverted ? 1 : 0), i - 1);
  }
}

/// The address is the first source, what is stored comes behind it.
void OperandReader::read_access(const Opcode& opcode, const std::vector<std::string>& operands) {
  instruction_.space = space_of(opcode);
  std::size_t next = 0;
  if (opcode.is_one_of({"ld", "ldu", "atom"})) destination(operands.at(next++));
  address(operands.at(next++));
  for (std::size_t place = 1; next < operands.size(); ++next, ++place)
    source(operands[next], place);
}

void OperandReader::read_barrier(const Opcode& opcode, const std::vector<std::string>& operands) {
  if (opcode.has("warp"))
    source(operands.at(0), 0);
  else if (!opcode.has("sync") || operands.size() != 1 || operands[0] != "0")
    throw Fault("a barrier of another kind");
}

bool OperandReader::read_vector_move(Opcode& opcode, const std::vector<std::string>& operands) {
  const bool unpacks = operands.at(0).starts_with('{');
  if (!unpacks && !operands.at(1).starts_with('{')) return false;
  destination(operands[0]);
  source(operands[1], 0);
  opcode = Opcode((unpacks ? "unpack." : "pack.") + opcode.type());
  return true;
}

/// From the address in a space to the generic one, or back.
void OperandReader::read_window(Opcode& opcode, const std::vector<std::string>& operands) {
  destination(operands.at(0));
  source(operands.at(1), 0);
  const std::uint64_t window = opcode.has("shared")  ? shared_window
                               : opcode.has("local") ? local_window
                               : opcode.has("param") ? parameter_window
                                                     : 0;
  instruction_.offset = static_cast<std::int64_t>(opcode.has("to") ? 0 - window : window);
  opcode = Opcode("window");
}

/// "a", "_", "{a, _}" or "p|q".
void OperandReader::destination(const std::string& text) {
  std::vector<std::string> names;
  if (text.starts_with('{')) {
    names = parts_of(text);
    instruction_.parts = static_cast<std::uint8_t>(names.size());
  } else {
    const std::size_t bar = text.find('|');
    names.push_back(trimmed(std::string_view(text).substr(0, bar)));
    if (bar != std::string::npos) names.push_back(trimmed(std::string_view(text).substr(bar + 1)));
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == "_") continue;
    instruction_.to[i] = symbols_.slot_of(names[i]);
    const unsigned width = symbols_.width_of(instruction_.to[i]);
    if (width == 0) throw Fault("destination " + names[i]);
    if (i == 0 || instruction_.parts > 1) instruction_.width = static_cast<std::uint8_t>(width);
  }
}

void OperandReader::source(const std::string& text, std::size_t place) {
  if (!text.starts_with('{')) {
    instruction_.from.at(place) = symbols_.slot_of(text);
    return;
  }
  const std::vector<std::string> parts = parts_of(text);
  instruction_.parts = static_cast<std::uint8_t>(parts.size());
  for (const std::string& part : parts) instruction_.from.at(place++) = symbols_.slot_of(part);
}

/// "[%r4+8]"
void OperandReader::address(const std::string& text) {
  if (!text.starts_with('[')) throw Fault("address " + text);
  const std::string_view all = inside(text);
  const std::size_t sign = all.find_first_of("+-", 1);
  if (sign != std::string::npos) {
    const auto offset = number_in(trimmed(all.substr(sign + 1)));
    if (!offset) throw Fault("address " + text);
    instruction_.offset = static_cast<std::int64_t>(all[sign] == '-' ? 0 - *offset : *offset);
  }
  instruction_.from[0] = symbols_.slot_of(trimmed(all.substr(0, sign)));
  instruction_.narrow_address = symbols_.width_of(instruction_.from[0]) == 4;
}

}  // namespace cohom::ptx
