#include "mpi_info.hpp"

#include "mpi_ext/transport/collective_layers.hpp"
#include "mpi_ext/transport/operations.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <array>

namespace cohom::bench {
namespace {

std::string thread_level_name(int level) {
  if (level == MPI_THREAD_MULTIPLE) return "MPI_THREAD_MULTIPLE";
  if (level == MPI_THREAD_SERIALIZED) return "MPI_THREAD_SERIALIZED";
  if (level == MPI_THREAD_FUNNELED) return "MPI_THREAD_FUNNELED";
  return "MPI_THREAD_SINGLE";
}

}  // namespace

nlohmann::ordered_json mpi_info() {
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> library{};
  int length = 0, version = 0, subversion = 0;
  MPI_Get_library_version(library.data(), &length);
  MPI_Get_version(&version, &subversion);
  const auto layers = mpi::collective_layers();
  const auto operations = mpi::Operations::agreed(MPI_COMM_SELF);
  nlohmann::ordered_json own = nlohmann::ordered_json::array();
  for (const mpi::Operation& operation : operations.all())
    if (operation.own) own.push_back(operation.name);
  MPI_Finalize();
  nlohmann::ordered_json below = nlohmann::ordered_json::array();
  for (const mpi::CollectiveLayer& layer : layers)
    below.push_back({{"name", layer.name},
                     {"present", layer.present},
                     {"enabled", layer.enabled},
                     {"sharp", layer.sharp}});
  // Some libraries append their build's whole configuration.
  const std::string text(library.data());
  return {
      {"library", text.substr(0, text.find_first_of(",\n"))},
      {"standard", fmt::format("{}.{}", version, subversion)},
      {"thread_level", thread_level_name(level)},
      {"fabric", {{"summary", mpi::summary(layers)}, {"layers", below}, {"own_operations", own}}}};
}

std::string mpi_text(const nlohmann::ordered_json& info) {
  std::string own;
  for (const nlohmann::ordered_json& name : info["fabric"]["own_operations"])
    own += (own.empty() ? "" : ", ") + name.get<std::string>();
  if (!own.empty()) own = "  by own operations instead of MPI's, which are wrong: " + own + "\n";
  return fmt::format("MPI {}, standard {}, up to {}\nfabric: MPI {}\n{}",
                     info["library"].get<std::string>(), info["standard"].get<std::string>(),
                     info["thread_level"].get<std::string>(),
                     info["fabric"]["summary"].get<std::string>(), own);
}

}  // namespace cohom::bench
