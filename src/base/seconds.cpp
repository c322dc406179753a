#include "base/seconds.hpp"

#include "base/text.hpp"

#include <array>
#include <charconv>
#include <string>

namespace cohom {

bool are_seconds(double number) { return number >= 0 && number <= max_seconds; }

std::optional<double> parse_seconds(std::string_view text) {
  const auto number = parse_number<double>(text);
  return number && are_seconds(*number) ? number : std::nullopt;
}

std::string seconds_text(double seconds) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), seconds).ptr;
  return {text.data(), end};
}

Error not_seconds(std::string_view option, std::string_view value) {
  return Error(ErrorKind::invalid_argument, std::string(option) + "=" + std::string(value) +
                                                " is not a number of seconds from 0 (off) to 1e9");
}

}  // namespace cohom
