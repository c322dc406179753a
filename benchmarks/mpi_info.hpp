#pragma once
// What the MPI library is, as data.

#include <nlohmann/json.hpp>

#include <string>

namespace cohom::bench {

/// Initialises MPI and finalises it again; call once. Needs no launcher.
nlohmann::ordered_json mpi_info();

/// The same for people.
std::string mpi_text(const nlohmann::ordered_json& info);

}  // namespace cohom::bench
