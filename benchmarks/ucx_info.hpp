#pragma once
// What UCX is and has on this machine, as data.

#include <nlohmann/json.hpp>

#include <string>

namespace cohom::bench {

/// Its version, and its transports with their devices. @throws Error(transport)
nlohmann::ordered_json ucx_info();

/// The same for people, one line.
std::string ucx_text(const nlohmann::ordered_json& info);

}  // namespace cohom::bench
