#include "module.hpp"

#include "declaration.hpp"
#include "decoder.hpp"
#include "device_memory.hpp"
#include "edit.hpp"
#include "fault.hpp"
#include "settings.hpp"
#include "statement.hpp"
#include "text.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <utility>

namespace cohom::ptx {
namespace {

bool is_of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%';
}

}  // namespace

Module::Module(std::string text) : text_(std::move(text)) {
  const std::string outside = find_entries();
  for (const Statement& statement : statements_of(outside, 1)) {
    if (statement.kind == Statement::Kind::file)
      name_file(statement.text);
    else if (statement.kind == Statement::Kind::simple)
      declare(statement.text);
  }
}

/// A kernel goes from the line of its ".entry" to the closing brace in the first column.
std::string Module::find_entries() {
  std::string outside;
  std::size_t at = 0, rest = 0;
  while ((at = text_.find(".entry", at)) != std::string::npos) {
    const std::size_t newline = text_.rfind('\n', at);
    const std::size_t begin = newline == std::string::npos ? 0 : newline + 1;
    std::size_t name = at + std::strlen(".entry");
    while (std::isspace(static_cast<unsigned char>(text_[name])) != 0) ++name;
    std::size_t name_end = name;
    while (is_of_name(text_[name_end])) ++name_end;
    const std::size_t brace = text_.find("\n}", at);
    const std::size_t end = brace == std::string::npos ? text_.size() : brace + 2;
    entries_[text_.substr(name, name_end - name)] = {begin, end};
    outside += text_.substr(rest, begin - rest);
    rest = at = end;
  }
  return outside + text_.substr(rest);
}

void Module::name_file(const std::string& text) {
  const std::vector<std::string> words = words_of(text);
  if (words.size() < 3) return;
  std::string name = words[2];
  std::erase(name, '"');
  files_[static_cast<std::uint32_t>(number_in(words[1]).value_or(0))] = name;
}

void Module::declare(const std::string& text) {
  const auto has = [&](const char* word) { return text.find(word) != std::string::npos; };
  if (has(".func")) return;  // a declaration; kernels that call it cannot be decoded
  if (has(".shared ")) {
    const Declaration found = declaration_of(text);
    shared_[found.name] = {found.bytes, found.alignment};
    return;
  }
  if (!has(".global ") && !has(".const ")) return;
  const Declaration found = declaration_of(text);
  DeviceMemory& memory = DeviceMemory::instance();
  void* const place = memory.allocate(std::max<std::size_t>(found.bytes, 1));
  if (place == nullptr) throw Fault("no device memory for " + found.name);
  const std::size_t offset = memory.offset(place);
  std::ranges::copy(initial_bytes(found), memory.view(offset));
  std::memset(memory.state(offset), DeviceMemory::allocated | DeviceMemory::written, found.bytes);
  globals_[found.name] = reinterpret_cast<std::uint64_t>(place);
}

Kernel& Module::kernel(const std::string& name) {
  std::unique_ptr<Kernel>& place = kernels_[name];
  if (place) return *place;
  const auto entry = entries_.find(name);
  if (entry == entries_.end()) throw Fault("no kernel " + name);
  const auto [begin, end] = entry->second;
  const auto line = std::count(text_.begin(), text_.begin() + std::ptrdiff_t(begin), '\n') + 1;
  auto kernel = std::make_unique<Kernel>();
  kernel->module = this;
  kernel->name = name;
  std::string body = text_.substr(begin, end - begin);
  kernel->edits = edit(Settings::instance().edit, name, body);
  decode(*kernel, statements_of(body, static_cast<std::uint32_t>(line)));
  place = std::move(kernel);
  return *place;
}

const std::uint64_t* Module::global(const std::string& name) const {
  const auto found = globals_.find(name);
  return found == globals_.end() ? nullptr : &found->second;
}

const Module::SharedVariable* Module::shared(const std::string& name) const {
  const auto found = shared_.find(name);
  return found == shared_.end() ? nullptr : &found->second;
}

std::string Module::file_name(std::uint32_t number) const {
  const auto found = files_.find(number);
  return found == files_.end() ? "?" : found->second;
}

}  // namespace cohom::ptx
