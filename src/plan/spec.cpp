#include "plan/spec.hpp"

#include <cohom/error.hpp>

namespace cohom {

namespace {

[[noreturn]] void reject(std::string_view text, const std::string& reason) {
  throw Error(ErrorKind::invalid_argument, "codec spec \"" + std::string(text) + "\": " + reason +
                                               "; write name or name:parameter=value,...");
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
    if (equals == 0 || equals == std::string_view::npos)
      reject(text, "\"" + std::string(item) + "\" is not parameter=value");
    const bool fresh =
        spec.parameters.emplace(item.substr(0, equals), item.substr(equals + 1)).second;
    if (!fresh)
      reject(text, "parameter " + std::string(item.substr(0, equals)) + " is given twice");
    if (comma == std::string_view::npos) return spec;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace cohom
