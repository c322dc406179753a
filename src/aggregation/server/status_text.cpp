#include "aggregation/server/status_text.hpp"

#include "base/text.hpp"

#include <cohom/error.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>

namespace cohom::offload {

namespace {

using Json = nlohmann::ordered_json;

constexpr int max_depth = 8;             ///< printing recurses
constexpr std::size_t max_quoted = 200;  ///< of an answer, in an error

/// Control characters as JSON writes them.
std::string dumped(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', true, Json::error_handler_t::replace);
}

/// Text without quotation marks.
std::string printed(const Json& json) {
  return json.is_string() ? printable(json.get<std::string>()) : dumped(json);
}

Json parsed(const std::string& answer) {
  const auto check_depth = [](int depth, Json::parse_event_t, Json&) {
    if (depth > max_depth) throw Error(ErrorKind::transport, "it is nested too deeply");
    return true;
  };
  Json status = Json::parse(answer, check_depth);
  if (!status.is_object()) throw Error(ErrorKind::transport, "it is no JSON object");
  return status;
}

/// Other numbers are not converted: what a float that is too large becomes is undefined.
std::uint64_t whole_number(const Json& group, const char* name) {
  const Json& value = group.at(name);
  if (!value.is_number_unsigned())
    throw Error(ErrorKind::transport, std::string("its '") + name + "' is " +
                                          dumped(value).substr(0, max_quoted) +
                                          ", which should be a whole number");
  return value.get<std::uint64_t>();
}

std::string line_of(const Json& group) {
  const auto number = [&](const char* name) { return whole_number(group, name); };
  return fmt::format(
      "job {} group {}: {}, {} of {} workers, {} slots of {} bytes, {} contributions, {} sums\n",
      number("job"), number("group"), printed(group.at("state")), number("joined"),
      number("workers"), number("slots"), number("payload_bytes"), number("contributions"),
      number("sums"));
}

std::string lines_of(const Json& status) {
  std::string text;
  for (const auto& [name, value] : status.items())
    if (!value.is_structured()) text += printable(name) + ": " + dumped(value) + "\n";
  // Told to operators, and to who has the key of the job.
  if (const auto groups = status.find("groups"); groups != status.end())
    for (const auto& group : *groups) text += line_of(group);
  for (const auto& [name, count] : status.at("packets").items())
    if (count != 0) text += "packets " + printable(name) + ": " + dumped(count) + "\n";
  return text;
}

}  // namespace

std::string status_text(std::span<const std::string> answers, bool as_json) {
  std::string why;
  try {
    Json status = parsed(answers.front());
    for (const std::string& answer : answers.subspan(1)) {
      const Json more = parsed(answer);
      for (const Json& group : more.at("groups")) status.at("groups").push_back(group);
    }
    return as_json ? dumped(status, 1) + "\n" : lines_of(status);
  } catch (const Json::exception& error) {  // its text may quote the answer
    why = printable(std::string(error.what()).substr(0, max_quoted));
  } catch (const Error& error) {
    why = error.what();
  }
  throw Error(ErrorKind::transport, "what came is no status of a cohom-aggregator: " + why);
}

}  // namespace cohom::offload
