#pragma once
// Reading and writing the short texts of options and their errors.

#include <cohom/error.hpp>

#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace cohom {

/// The whole text as a number; exact, and knows no locale.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

/// N, NK, NM or NG: in powers of 1024.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

/// Takes the part up to the next mark off the text, and the mark.
std::string_view take_part(std::string_view& text, char mark);

/// "; did you mean X" with the candidate closest to `name` in edit distance; empty when none is
/// close.
std::string suggestion(std::string_view name, std::span<const std::string_view> candidates);

/// Text for a log or a terminal: what is no printable character of ASCII is a question mark there.
std::string printable(std::string text);

/// "1 rank", "2 ranks"
std::string counted(std::uint64_t count, std::string_view noun);

/// "8192 bytes", "16 KiB", "3 GiB": four digits at most, rounded.
std::string bytes_text(std::uint64_t bytes);

/// "a, b, c"
std::string listed(std::span<const std::string_view> names);

// Seconds as users write them.

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
