#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

namespace cohom {
namespace {

bool same_letter(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

/// Fewest characters to insert, delete or replace, whatever their case; one row of the usual table
/// at a time.
std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t replaced = diagonal + (same_letter(from[i], to[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string_view take_part(std::string_view& text, char mark) {
  const std::size_t end = text.find(mark);
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

std::string suggestion(std::string_view name, std::span<const std::string_view> candidates) {
  std::string_view nearest;
  // Farther is no misspelling: a name of three letters shares one with half of all others.
  std::size_t least = std::max<std::size_t>(name.size() / 2, 1) + 1;
  for (std::string_view candidate : candidates)
    if (const std::size_t distance = edit_distance(name, candidate); distance < least) {
      least = distance;
      nearest = candidate;
    }
  return nearest.empty() ? std::string() : "; did you mean " + std::string(nearest);
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  constexpr std::string_view units = "KMG";
  const std::size_t unit = text.empty() ? std::string_view::npos : units.find(text.back());
  const int shift = unit == std::string_view::npos ? 0 : static_cast<int>(10 * (unit + 1));
  if (shift != 0) text.remove_suffix(1);
  const auto number = parse_number<std::uint64_t>(text);
  if (!number || *number > std::numeric_limits<std::uint64_t>::max() >> shift) return std::nullopt;
  return *number << shift;
}

std::string printable(std::string text) {
  for (char& c : text)
    if (c < ' ' || c > '~') c = '?';
  return text;
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return std::to_string(count).append(" ").append(noun).append(count == 1 ? "" : "s");
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::string_view units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; unit + 1 < std::size(units) && bytes >= 10'000; ++unit) bytes = (bytes + 512) / 1024;
  return std::to_string(bytes) + " " + std::string(units[unit]);
}

std::string listed(std::span<const std::string_view> names) {
  std::string list;
  for (std::string_view name : names) list += (list.empty() ? "" : ", ") + std::string(name);
  return list;
}

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
