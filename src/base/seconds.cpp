#include "base/seconds.hpp"

#include "base/text.hpp"

#include <string>

namespace cohom {

bool are_seconds(double number) { return number >= 0 && number <= most_seconds; }

std::optional<double> parse_seconds(std::string_view text) {
  const auto number = parse_number<double>(text);
  return number && are_seconds(*number) ? number : std::nullopt;
}

Error not_seconds(std::string_view option, std::string_view value) {
  return Error(ErrorKind::invalid_argument, std::string(option) + "=" + std::string(value) +
                                                " is not a number of seconds from 0 (off) to 1e9");
}

}  // namespace cohom
