// What stands for hwloc in builds without it.

#include "topology/hwloc.hpp"

namespace cohom {

namespace {

constexpr const char* why = "this build of cohom has no hwloc";

}  // namespace

std::optional<Machine> machine_of_hwloc(std::string& why_not) {
  why_not = why;
  return std::nullopt;
}

std::optional<Devices> devices_of_hwloc(std::string& why_not) {
  why_not = why;
  return std::nullopt;
}

}  // namespace cohom
