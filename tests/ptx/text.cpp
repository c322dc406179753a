#include "text.hpp"

#include "fault.hpp"

#include <cctype>
#include <cstdlib>

namespace cohom::ptx {
namespace {

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

}  // namespace

std::string trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return std::string(text);
}

std::vector<std::string> list_of(std::string_view text) {
  std::vector<std::string> parts;
  std::string part;
  int depth = 0;
  for (const char c : text) {
    depth += c == '{' || c == '[' || c == '(';
    depth -= c == '}' || c == ']' || c == ')';
    if (c == ',' && depth == 0) {
      parts.push_back(trimmed(part));
      part.clear();
    } else {
      part += c;
    }
  }
  if (!trimmed(part).empty()) parts.push_back(trimmed(part));
  return parts;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text) {
    if (!is_space(c)) {
      word += c;
    } else if (!word.empty()) {
      words.push_back(word);
      word.clear();
    }
  }
  if (!word.empty()) words.push_back(word);
  return words;
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  if (text == "WARP_SZ") return 32;
  const std::string owned(text);
  if (text.size() > 2 && text[0] == '0' &&
      std::string_view("fFdD").find(text[1]) != std::string::npos)
    return std::strtoull(owned.c_str() + 2, nullptr, 16);
  const bool negative = text.starts_with('-');
  const std::size_t first = negative || text.starts_with('+') ? 1 : 0;
  if (first >= text.size() || !is_digit(text[first])) return std::nullopt;
  const std::uint64_t value = std::strtoull(owned.c_str() + first, nullptr, 0);
  return negative ? 0 - value : value;
}

std::size_t bytes_of_type(std::string_view type) {
  if (type == ".pred") return 1;
  const std::optional<std::uint64_t> bits =
      type.size() > 2 ? number_in(type.substr(2)) : std::nullopt;
  if (!bits || *bits % 8 != 0) throw Fault("type " + std::string(type));
  return *bits / 8;
}

}  // namespace cohom::ptx
