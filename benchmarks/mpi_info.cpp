#include "mpi_info.hpp"

#include "mpi_ext/collective_layers.hpp"

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
  MPI_Finalize();
  nlohmann::ordered_json below = nlohmann::ordered_json::array();
  for (const mpi::CollectiveLayer& layer : layers)
    below.push_back({{"name", layer.name},
                     {"present", layer.present},
                     {"enabled", layer.enabled},
                     {"sharp", layer.sharp}});
  // Some libraries append their build's whole configuration.
  const std::string text(library.data());
  return {{"library", text.substr(0, text.find_first_of(",\n"))},
          {"standard", fmt::format("{}.{}", version, subversion)},
          {"thread_level", thread_level_name(level)},
          {"fabric", {{"summary", mpi::summary(layers)}, {"layers", below}}}};
}

std::string mpi_text(const nlohmann::ordered_json& info) {
  return fmt::format("MPI {}, standard {}, up to {}\nfabric: MPI {}\n",
                     info["library"].get<std::string>(), info["standard"].get<std::string>(),
                     info["thread_level"].get<std::string>(),
                     info["fabric"]["summary"].get<std::string>());
}

}  // namespace cohom::bench
