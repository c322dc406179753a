#pragma once
// What this machine has that matters to the library, as data.

#include <nlohmann/json.hpp>

#include <string>

namespace cohom::bench {

/// Host, processor, cores, caches, memory; without hwloc only what C++ knows.
nlohmann::ordered_json machine_info();

/// "1.5 GiB"
std::string binary_size(double bytes);

/// The same for people, a few lines.
std::string machine_text(const nlohmann::ordered_json& info);

}  // namespace cohom::bench
