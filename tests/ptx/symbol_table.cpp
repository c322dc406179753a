#include "symbol_table.hpp"

#include "declaration.hpp"
#include "fault.hpp"
#include "module.hpp"
#include "text.hpp"

namespace cohom::ptx {
namespace {

/// What a register holds that nobody has written: an instruction that reads it gives something odd.
constexpr std::uint64_t unwritten(unsigned width) {
  return width == 1 ? 1 : 0xcdcdcdcdcdcdcdcdull >> (64 - 8 * width);
}

}  // namespace

void SymbolTable::close_scope() {
  if (scopes_.size() > 1) scopes_.pop_back();
}

Slot SymbolTable::add_slot(std::uint64_t value) {
  kernel_.first_slots.push_back(value);
  return static_cast<Slot>(kernel_.first_slots.size() - 1);
}

Slot SymbolTable::constant(std::uint64_t value) {
  const auto [found, fresh] = constants_.try_emplace(value, no_slot);
  if (fresh) found->second = add_slot(value);
  return found->second;
}

void SymbolTable::declare_registers(std::string_view text) {
  const std::vector<std::string> words = words_of(text);
  if (words.size() < 3) throw Fault("registers " + std::string(text));
  const auto width = static_cast<unsigned>(bytes_of_type(words[1]));
  if (width > 8) throw Fault("registers of " + words[1]);
  std::string names;
  for (std::size_t i = 2; i < words.size(); ++i) names += words[i];
  for (const std::string& name : list_of(names)) {
    const std::size_t less = name.find('<');
    if (less == std::string::npos) {
      add_register(name, width);
      continue;
    }
    const std::size_t count = number_in(std::string_view(name).substr(less + 1)).value_or(0);
    for (std::size_t i = 0; i < count; ++i)
      add_register(name.substr(0, less) + std::to_string(i), width);
  }
}

void SymbolTable::add_register(const std::string& name, unsigned width) {
  const Slot slot = add_slot(unwritten(width));
  scopes_.back()[name] = slot;
  widths_[slot] = width;
}

void SymbolTable::declare_parameter(std::string_view text) {
  const Declaration found = declaration_of(text);
  const std::size_t offset = aligned_offset(kernel_.parameter_bytes, found.alignment);
  kernel_.parameters.push_back({offset, found.bytes});
  kernel_.parameter_bytes = offset + found.bytes;
  addresses_[found.name] = parameter_window + offset;
}

void SymbolTable::declare_shared(std::string_view text) {
  const Declaration found = declaration_of(text);
  place_shared(found.name, found.bytes, found.alignment);
}

std::uint64_t SymbolTable::place_shared(const std::string& name, std::size_t bytes,
                                        std::size_t alignment) {
  const std::size_t offset = aligned_offset(kernel_.shared_bytes, alignment);
  kernel_.shared_bytes = offset + bytes;
  addresses_[name] = offset;
  return offset;
}

void SymbolTable::declare_local(std::string_view text) {
  const Declaration found = declaration_of(text);
  const std::size_t offset = aligned_offset(kernel_.local_bytes, found.alignment);
  kernel_.local_bytes = offset + found.bytes;
  addresses_[found.name] = offset;
}

Slot SymbolTable::find_register(const std::string& name) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
    if (const auto found = scope->find(name); found != scope->end()) return found->second;
  return no_slot;
}

Slot SymbolTable::find_special(const std::string& name) {
  static const std::map<std::string, Special> known = {{"%tid.x", Special::thread},
                                                       {"%ntid.x", Special::threads},
                                                       {"%ctaid.x", Special::block},
                                                       {"%nctaid.x", Special::blocks},
                                                       {"%laneid", Special::lane},
                                                       {"%warpid", Special::warp},
                                                       {"%tid.y", Special::zero},
                                                       {"%tid.z", Special::zero},
                                                       {"%ctaid.y", Special::zero},
                                                       {"%ctaid.z", Special::zero},
                                                       {"%ntid.y", Special::one},
                                                       {"%ntid.z", Special::one},
                                                       {"%nctaid.y", Special::one},
                                                       {"%nctaid.z", Special::one},
                                                       {"%lanemask_lt", Special::lanes_below},
                                                       {"%lanemask_le", Special::lanes_up_to},
                                                       {"%lanemask_eq", Special::own_lane},
                                                       {"%lanemask_ge", Special::lanes_from},
                                                       {"%lanemask_gt", Special::lanes_above}};
  const auto found = known.find(name);
  if (found == known.end()) return no_slot;
  const auto [special, fresh] = specials_.try_emplace(name, no_slot);
  if (fresh) {
    special->second = add_slot(0);
    kernel_.specials.push_back({special->second, found->second});
  }
  return special->second;
}

std::optional<std::uint64_t> SymbolTable::address_of(const std::string& name) {
  if (const auto found = addresses_.find(name); found != addresses_.end()) return found->second;
  if (const std::uint64_t* const global = kernel_.module->global(name); global != nullptr)
    return *global;
  if (const auto* const shared = kernel_.module->shared(name); shared != nullptr)
    return place_shared(name, shared->bytes, shared->alignment);
  return std::nullopt;
}

Slot SymbolTable::slot_of(std::string_view text) {
  const std::string name(text);
  if (const Slot slot = find_register(name); slot != no_slot) return slot;
  if (const auto number = number_in(text)) return constant(*number);
  if (const Slot slot = find_special(name); slot != no_slot) return slot;
  const std::size_t plus = text.find('+');
  const auto address = address_of(trimmed(text.substr(0, plus)));
  const auto more = plus == std::string::npos ? 0 : number_in(trimmed(text.substr(plus + 1)));
  if (!address || !more) throw Fault("operand " + name);
  return constant(*address + *more);
}

unsigned SymbolTable::width_of(Slot slot) const {
  const auto found = widths_.find(slot);
  return found == widths_.end() ? 0 : found->second;
}

}  // namespace cohom::ptx
