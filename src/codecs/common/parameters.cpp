#include "codecs/common/parameters.hpp"

#include "base/text.hpp"

#include <cohom/error.hpp>

#include <algorithm>
#include <optional>
#include <vector>

namespace cohom {
namespace {

std::optional<double> parse_fraction(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return parse_number<double>(text);
  const auto numerator = parse_number<std::uint32_t>(text.substr(0, slash));
  const auto denominator = parse_number<std::uint32_t>(text.substr(slash + 1));
  if (!numerator || !denominator || *denominator == 0) return std::nullopt;
  return static_cast<double>(*numerator) / static_cast<double>(*denominator);
}

}  // namespace

ParameterReader::ParameterReader(std::string_view codec, std::span<const ParameterInfo> known,
                                 const Parameters& given)
    : codec_(codec), known_(known), given_(given) {
  std::vector<std::string_view> names;
  for (const ParameterInfo& parameter : known) names.push_back(parameter.name);
  for (const auto& [name, value] : given) {
    if (std::ranges::find(names, name) != names.end()) continue;
    std::string message(codec);
    message.append(" has no parameter '").append(name).append("' (given: ").append(name);
    message.append("=").append(value).append(")").append(suggestion(name, names));
    message += names.empty() ? "; it takes none" : "; its parameters are " + listed(names);
    throw Error(ErrorKind::invalid_argument, message);
  }
}

std::uint64_t ParameterReader::integer(std::string_view name, std::uint64_t low,
                                       std::uint64_t high) const {
  const auto number = parse_number<std::uint64_t>(value(name));
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
  if (found == names.end()) fail(name, not_allowed(name) + suggestion(value(name), names));
  return static_cast<std::size_t>(found - names.begin());
}

void ParameterReader::reject(std::string_view name) const { fail(name, not_allowed(name)); }

bool ParameterReader::on(std::string_view name) const {
  static constexpr std::string_view names[] = {"off", "on"};
  return choice(name, names) == 1;
}

void ParameterReader::reject(std::string_view name, std::string_view reason) const {
  fail(name, " cannot be: " + std::string(reason));
}

std::string ParameterReader::not_allowed(std::string_view name) const {
  return " is not allowed; allowed: " + std::string(info(name).range);
}

void ParameterReader::fail(std::string_view name, const std::string& what) const {
  throw Error(ErrorKind::invalid_argument, std::string(codec_) + ": " + std::string(name) + "=" +
                                               std::string(value(name)) + what);
}

const ParameterInfo& ParameterReader::info(std::string_view name) const {
  return *std::ranges::find(known_, name, &ParameterInfo::name);
}

std::string_view ParameterReader::value(std::string_view name) const {
  const auto found = given_.find(name);
  return found != given_.end() ? std::string_view(found->second) : info(name).default_value;
}

}  // namespace cohom
