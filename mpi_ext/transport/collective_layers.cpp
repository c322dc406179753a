#include "mpi_ext/transport/collective_layers.hpp"

#include "mpi_ext/base/mpi_variable.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace cohom::mpi {

namespace {

/// A parameter that every Open MPI has.
constexpr const char* sign_of_open_mpi = "coll_base_verbose";

std::string_view environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// HCOLL_ENABLE_SHARP: 0 no; 1 where there is any; 2 to 4 for sure.
bool hcoll_uses_sharp() {
  const std::string_view value = environment("HCOLL_ENABLE_SHARP");
  return !value.empty() && value != "0";
}

/// UCC's layers list what they use; SHARP is not among the defaults. Open MPI's UCC reads the
/// variables with its own prefix first.
bool ucc_uses_sharp() {
  constexpr std::array lists{
      "OMPI_UCC_CL_BASIC_TLS",
      "UCC_CL_BASIC_TLS",
      "OMPI_UCC_CL_HIER_NODE_LEADERS_SBGP_TLS",
      "UCC_CL_HIER_NODE_LEADERS_SBGP_TLS",
  };
  return std::ranges::any_of(lists, [](const char* name) {
    return environment(name).find("sharp") != std::string_view::npos;
  });
}

CollectiveLayer layer(std::string_view name, const char* variable, bool sharp) {
  const MpiVariable enable(variable);
  return {.name = name, .present = enable.found(), .enabled = enable.read(0) != 0, .sharp = sharp};
}

}  // namespace

std::vector<CollectiveLayer> collective_layers() {
  const ToolInterface tool;
  if (!tool.ready() || !MpiVariable(sign_of_open_mpi).found()) return {};
  return {layer("HCOLL", "coll_hcoll_enable", hcoll_uses_sharp()),
          layer("UCC", "coll_ucc_enable", ucc_uses_sharp())};
}

std::string summary(std::span<const CollectiveLayer> layers) {
  if (layers.empty()) return "sums as the MPI library chooses; it does not tell";
  std::string text;
  for (const CollectiveLayer& layer : layers) {
    if (layer.enabled && layer.sharp)
      return "sums by " + std::string(layer.name) + ", which is to use SHARP";
    text += (text.empty() ? "" : ", ") + std::string(layer.name) +
            (!layer.present   ? " absent"
             : !layer.enabled ? " not enabled"
                              : " without SHARP");
  }
  return "sums in software (" + text + ")";
}

}  // namespace cohom::mpi
