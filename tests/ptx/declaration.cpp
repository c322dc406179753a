#include "declaration.hpp"

#include "fault.hpp"
#include "text.hpp"

#include <cctype>
#include <cstring>

namespace cohom::ptx {
namespace {

std::size_t count_in(std::string_view text) {
  const auto number = number_in(text);
  if (!number) throw Fault("number " + std::string(text));
  return *number;
}

/// ".u64", ".b8"; not ".align" nor ".shared".
bool is_type(const std::string& word) {
  return word.size() > 2 && word[0] == '.' &&
         std::isdigit(static_cast<unsigned char>(word[2])) != 0;
}

}  // namespace

Declaration declaration_of(std::string_view text) {
  Declaration found;
  const std::size_t equals = text.find('=');
  if (equals != std::string::npos) {
    std::string list = trimmed(text.substr(equals + 1));
    if (list.starts_with('{')) list = list.substr(1, list.size() - 2);
    found.values = list_of(list);
  }
  const std::vector<std::string> words = words_of(text.substr(0, equals));
  std::size_t alignment = 0;
  bool of_pointer = false;  // ".ptr .global .align 4" tells of what a parameter points to
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == ".align" && i + 1 < words.size()) {
      ++i;
      if (!of_pointer) alignment = count_in(words[i]);
    } else if (words[i] == ".ptr") {
      of_pointer = true;
    } else if (is_type(words[i])) {
      found.element_bytes = bytes_of_type(words[i]);
    } else if (words[i][0] != '.') {
      found.name += words[i];
    }
  }
  found.alignment = alignment == 0 ? found.element_bytes : alignment;
  found.bytes = found.element_bytes;
  if (const std::size_t open = found.name.find('['); open != std::string::npos) {
    const std::string count = found.name.substr(open + 1, found.name.find(']') - open - 1);
    found.bytes = count.empty() ? 0 : found.element_bytes * count_in(count);
    found.name.resize(open);
  }
  return found;
}

std::vector<std::uint8_t> initial_bytes(const Declaration& declaration) {
  std::vector<std::uint8_t> bytes(declaration.bytes);
  const std::size_t each = declaration.element_bytes;
  if (declaration.values.size() * each > bytes.size())
    throw Fault("more values than " + declaration.name + " has room for");
  for (std::size_t i = 0; i < declaration.values.size(); ++i) {
    const auto value = number_in(declaration.values[i]);
    if (!value) throw Fault("value " + declaration.values[i] + " of " + declaration.name);
    std::memcpy(bytes.data() + i * each, &*value, each);
  }
  return bytes;
}

}  // namespace cohom::ptx
