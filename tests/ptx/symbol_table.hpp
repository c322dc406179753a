#pragma once
// SymbolTable: which slot of a thread a name or a constant is, while a kernel is decoded; and where
// variables lie in shared and local memory and among the parameters.

#include "kernel.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cohom::ptx {

class SymbolTable {
 public:
  explicit SymbolTable(Kernel& kernel) : kernel_(kernel) {}

  void open_scope() { scopes_.emplace_back(); }
  void close_scope();

  /// ".reg .b32 %r<12>" or ".reg .b32 a, b", in the innermost scope.
  void declare_registers(std::string_view text);
  void declare_parameter(std::string_view text);
  void declare_shared(std::string_view text);
  void declare_local(std::string_view text);

  /// A register, a number, a special register, the address of a variable, or that and a number
  /// more.
  /// @throws Fault for anything else
  Slot slot_of(std::string_view text);
  /// Bytes of a register; 0 of slots that are none.
  [[nodiscard]] unsigned width_of(Slot slot) const;

 private:
  Slot add_slot(std::uint64_t value);
  Slot constant(std::uint64_t value);
  void add_register(const std::string& name, unsigned width);
  [[nodiscard]] Slot find_register(const std::string& name) const;
  Slot find_special(const std::string& name);
  /// In its own space; a parameter's generic address.
  std::optional<std::uint64_t> address_of(const std::string& name);
  std::uint64_t place_shared(const std::string& name, std::size_t bytes, std::size_t alignment);

  Kernel& kernel_;
  std::vector<std::unordered_map<std::string, Slot>> scopes_ = {{}};
  std::unordered_map<Slot, unsigned> widths_;
  std::map<std::uint64_t, Slot> constants_;
  std::map<std::string, Slot> specials_;
  std::unordered_map<std::string, std::uint64_t> addresses_;
};

}  // namespace cohom::ptx
