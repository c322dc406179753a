#include "plan/spec.hpp"

#include "codecs/codec_table.hpp"

#include <cohom/error.hpp>

namespace cohom {

namespace {

[[noreturn]] void reject(std::string_view text, const std::string& reason) {
  throw Error(ErrorKind::invalid_argument,
              "codec spec \"" + std::string(text) + "\": " + reason +
                  "; write name, name:parameter=value,... or name:number, of its first "
                  "parameter");
}

bool is_number(std::string_view item) {
  return !item.empty() && item.front() >= '0' && item.front() <= '9' &&
         item.find('=') == std::string_view::npos;
}

/// Of a codec, which a number without a name is.
std::string_view first_parameter(std::string_view text, std::string_view codec) {
  const auto parameters = find_codec(codec).info.parameters;
  if (parameters.empty()) reject(text, std::string(codec) + " has no parameters");
  return parameters.front().name;
}

}  // namespace

Spec parse_spec(std::string_view text) {
  Spec spec;
  const std::size_t colon = text.find(':');
  spec.name = text.substr(0, colon);
  if (spec.name.empty()) reject(text, "the name is missing");
  if (colon == std::string_view::npos) return spec;

  std::string_view rest = text.substr(colon + 1);
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    const std::size_t equals = item.find('=');
    std::string_view name = item.substr(0, equals), value = item.substr(equals + 1);
    if (spec.parameters.empty() && spec.name != "auto" && is_number(item)) {
      name = first_parameter(text, spec.name);
      value = item;
    } else if (equals == 0 || equals == std::string_view::npos) {
      reject(text, "\"" + std::string(item) + "\" is not parameter=value");
    }
    if (!spec.parameters.emplace(name, value).second)
      reject(text, "parameter " + std::string(name) + " is given twice");
    if (comma == std::string_view::npos) return spec;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace cohom
