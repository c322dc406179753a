#include "ucx_transport/loaded_library.hpp"

#include "ucx_transport/library_version.hpp"

#include <link.h>
#include <ucp/api/ucp_version.h>

#include <cstddef>
#include <string_view>

namespace cohom::ucx {

std::vector<std::string> loaded_libraries() {
  std::vector<std::string> files;
  const auto visit = [](dl_phdr_info* file, std::size_t, void* found) {
    const std::string_view name = file->dlpi_name;
    if (name.substr(name.rfind('/') + 1).starts_with("libucp.so"))
      static_cast<std::vector<std::string>*>(found)->emplace_back(name);
    return 0;
  };
  ::dl_iterate_phdr(visit, &files);
  return files;
}

std::string version_note(const offload::UcxVersion& built_with, const offload::UcxVersion& in_use,
                         const std::vector<std::string>& files) {
  const bool same = built_with[0] == in_use[0] && built_with[1] == in_use[1];
  if (same && files.size() <= 1) return {};
  std::string note = "cohom was built with UCX " + std::to_string(built_with[0]) + "." +
                     std::to_string(built_with[1]) + ", and this process has UCX " +
                     offload::to_string(in_use);
  for (std::size_t i = 0; i < files.size(); ++i) note += (i == 0 ? " of " : " and ") + files[i];
  return note +
         "; an MPI library with a UCX of its own loads that one: build cohom with it, too "
         "(PKG_CONFIG_PATH)";
}

std::string version_note() {
  return version_note({UCP_API_MAJOR, UCP_API_MINOR, 0}, library_version(), loaded_libraries());
}

}  // namespace cohom::ucx
