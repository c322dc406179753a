#pragma once
// What this build of the library offers, as data.

#include <nlohmann/json.hpp>

#include <string>

namespace cohom::bench {

/// Version, wire format, instruction sets, codecs, algorithms, transports, and the table behind
/// algorithm=auto. @throws Error when COHOM_ISA names what this machine cannot run
nlohmann::ordered_json library_info();

/// The same for people, several lines.
std::string library_text(const nlohmann::ordered_json& info);

}  // namespace cohom::bench
