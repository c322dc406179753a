#include "offload/status_text.hpp"

#include <cohom/error.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdint>

namespace cohom::offload {

namespace {

using Json = nlohmann::ordered_json;

constexpr int max_depth = 8;  ///< printing recurses

/// Control characters as JSON writes them.
std::string dumped(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', true, Json::error_handler_t::replace);
}

/// Text as it is, if it is printable.
std::string printable(const Json& json) {
  if (!json.is_string()) return dumped(json);
  std::string text = json.get<std::string>();
  for (char& c : text)
    if (c < ' ' || c > '~') c = '?';
  return text;
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

std::string line_of(const Json& group) {
  return fmt::format(
      "job {:x} group {}: {}, {} of {} workers, {} slots of {} bytes, {} contributions, {} sums\n",
      group.at("job").get<std::uint64_t>(), group.at("group").get<std::uint32_t>(),
      printable(group.at("state")), group.at("joined").get<std::uint32_t>(),
      group.at("workers").get<std::uint32_t>(), group.at("slots").get<std::uint32_t>(),
      group.at("payload_bytes").get<std::uint32_t>(),
      group.at("contributions").get<std::uint64_t>(), group.at("sums").get<std::uint64_t>());
}

std::string lines_of(const Json& status) {
  std::string text;
  for (const auto& [name, value] : status.items())
    if (!value.is_structured()) text += printable(Json(name)) + ": " + dumped(value) + "\n";
  // Told to operators alone.
  if (const auto groups = status.find("groups"); groups != status.end())
    for (const auto& group : *groups) text += line_of(group);
  for (const auto& [name, count] : status.at("packets").items())
    if (count != 0) text += "packets " + printable(Json(name)) + ": " + dumped(count) + "\n";
  return text;
}

}  // namespace

std::string status_text(const std::string& answer, bool as_json) {
  std::string why;
  try {
    const Json status = parsed(answer);
    return as_json ? dumped(status, 1) + "\n" : lines_of(status);
  } catch (const Json::exception& error) {  // its text may quote the answer
    why = printable(Json(std::string(error.what()).substr(0, 200)));
  } catch (const Error& error) {
    why = error.what();
  }
  throw Error(ErrorKind::transport, "what came is no status of a cohom-aggregator: " + why);
}

}  // namespace cohom::offload
