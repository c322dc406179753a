#include "edit.hpp"

#include "text.hpp"

#include <stdexcept>
#include <vector>

namespace cohom::ptx {
namespace {

std::vector<std::string_view> fields_of(std::string_view rule) {
  std::vector<std::string_view> fields;
  for (std::size_t bar; (bar = rule.find('|')) != std::string::npos; rule.remove_prefix(bar + 1))
    fields.push_back(rule.substr(0, bar));
  fields.push_back(rule);
  return fields;
}

}  // namespace

std::size_t edit(std::string_view rule, std::string_view kernel_name, std::string& text) {
  if (rule.empty()) return 0;
  const std::vector<std::string_view> fields = fields_of(rule);
  const auto only = fields.size() == 4 ? number_in(fields[3]) : 0;
  if (fields.size() < 3 || fields.size() > 4 || fields[1].empty() || !only)
    throw std::runtime_error("an edit is kernel|from|to or kernel|from|to|n, not " +
                             std::string(rule));
  if (kernel_name.find(fields[0]) == std::string::npos) return 0;
  std::size_t found = 0, changed = 0;
  for (std::size_t at = 0; (at = text.find(fields[1], at)) != std::string::npos;) {
    if (*only != 0 && ++found != *only) {
      at += fields[1].size();
      continue;
    }
    text.replace(at, fields[1].size(), fields[2]);
    at += fields[2].size();
    ++changed;
  }
  return changed;
}

}  // namespace cohom::ptx
