#include "ucx_info.hpp"

#include <cohom/ucx.hpp>

#include <fmt/format.h>

namespace cohom::bench {

nlohmann::ordered_json ucx_info() {
  auto resources = nlohmann::ordered_json::array();
  for (const ucx::Resource& resource : ucx::resources())
    resources.push_back({{"transport", resource.transport}, {"device", resource.device}});
  return {{"version", ucx::version()}, {"resources", resources}};
}

std::string ucx_text(const nlohmann::ordered_json& info) {
  std::string text = fmt::format("UCX {}:", info["version"].get<std::string>());
  for (const auto& resource : info["resources"])
    text += fmt::format(" {}/{}", resource["transport"].get<std::string>(),
                        resource["device"].get<std::string>());
  return text + "\n";
}

}  // namespace cohom::bench
