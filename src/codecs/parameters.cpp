#include "codecs/parameters.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>
#include <vector>

namespace cohom {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

/// The whole text as a number; from_chars is exact and knows no locale.
template <class Number>
std::optional<Number> parse(std::string_view text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

std::optional<double> parse_fraction(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return parse<double>(text);
  const auto numerator = parse<std::uint32_t>(text.substr(0, slash));
  const auto denominator = parse<std::uint32_t>(text.substr(slash + 1));
  if (!numerator || !denominator || *denominator == 0) return std::nullopt;
  return static_cast<double>(*numerator) / static_cast<double>(*denominator);
}

std::string suggestion(std::string_view name, std::span<const std::string_view> candidates) {
  const std::string_view nearest = nearest_name(name, candidates);
  return nearest.empty() ? std::string() : "; did you mean '" + std::string(nearest) + "'?";
}

std::string listed(std::span<const std::string_view> names) {
  std::string list;
  for (std::string_view name : names) list += (list.empty() ? "" : ", ") + std::string(name);
  return list;
}

}  // namespace

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates) {
  std::string_view best;
  std::size_t least = std::max<std::size_t>(name.size() / 2, 2) + 1;  // farther is no misspelling
  for (std::string_view candidate : candidates)
    if (const std::size_t distance = edit_distance(name, candidate); distance < least) {
      least = distance;
      best = candidate;
    }
  return best;
}

ParameterReader::ParameterReader(std::string_view codec, std::span<const ParameterInfo> known,
                                 const Parameters& given)
    : codec_(codec), known_(known), given_(given) {
  std::vector<std::string_view> names;
  for (const ParameterInfo& parameter : known) names.push_back(parameter.name);
  for (const auto& [name, value] : given) {
    if (std::ranges::find(names, name) != names.end()) continue;
    std::string message = std::string(codec) + " has no parameter '" + name + "' (given: " + name +
                          "=" + value + ")" + suggestion(name, names);
    message += names.empty() ? "; it takes none" : "; its parameters are " + listed(names);
    throw Error(ErrorKind::invalid_argument, message);
  }
}

std::uint64_t ParameterReader::integer(std::string_view name, std::uint64_t low,
                                       std::uint64_t high) const {
  const auto number = parse<std::uint64_t>(value(name));
  if (!number || *number < low || *number > high) reject(name);
  return *number;
}

double ParameterReader::fraction(std::string_view name, double low, double high) const {
  const auto number = parse_fraction(value(name));
  if (!number || !(*number >= low && *number <= high)) reject(name);
  return *number;
}

std::size_t ParameterReader::choice(std::string_view name,
                                    std::span<const std::string_view> names) const {
  const auto found = std::ranges::find(names, value(name));
  if (found == names.end()) {
    std::string hint = suggestion(value(name), names);
    reject(name, hint.empty() ? std::string_view() : std::string_view(hint).substr(2));
  }
  return static_cast<std::size_t>(found - names.begin());
}

void ParameterReader::reject(std::string_view name, std::string_view reason) const {
  std::string message = std::string(codec_) + ": " + std::string(name) + "=" +
                        std::string(value(name)) +
                        " is not allowed; allowed: " + std::string(info(name).range);
  if (!reason.empty()) message += "; " + std::string(reason);
  throw Error(ErrorKind::invalid_argument, message);
}

const ParameterInfo& ParameterReader::info(std::string_view name) const {
  return *std::ranges::find(known_, name, &ParameterInfo::name);
}

std::string_view ParameterReader::value(std::string_view name) const {
  const auto found = given_.find(name);
  return found != given_.end() ? std::string_view(found->second) : info(name).default_value;
}

}  // namespace cohom
