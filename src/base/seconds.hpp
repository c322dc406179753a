#pragma once
// Seconds as users write them.

#include <cohom/error.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace cohom {

/// At most; longer ones are a slip.
constexpr double max_seconds = 1e9;

/// A decimal from 0 to max_seconds; none: the text is something else.
std::optional<double> parse_seconds(std::string_view text);
/// Whether it is from 0 to max_seconds.
bool are_seconds(double number);
/// As users write them: 0.5, not 0.500000.
std::string seconds_text(double seconds);
/// What is wrong with the value of an option.
Error not_seconds(std::string_view option, std::string_view value);

}  // namespace cohom
