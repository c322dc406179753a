#pragma once
// What hwloc says; a build without it has another file in its place.

#include "topology/machine.hpp"

#include <optional>
#include <string>

namespace cohom {

/// None: `why_not` says why.
std::optional<Machine> machine_of_hwloc(std::string& why_not);
std::optional<Devices> devices_of_hwloc(std::string& why_not);

}  // namespace cohom
