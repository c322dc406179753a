#include "mpi_ext/api/mpi_options.hpp"

#include "base/known_names.hpp"
#include "base/log.hpp"
#include "mpi_ext/base/mpi_check.hpp"

#include <string>
#include <string_view>

namespace cohom::mpi {

namespace {

std::string value_of(MPI_Info info, const char* key) {
  int length = 0;
  int found = 0;
  check(MPI_Info_get_valuelen(info, key, &length, &found), "MPI_Info_get_valuelen");
  std::string value(static_cast<std::size_t>(length) + 1, '\0');  // MPI writes the final zero, too
  check(MPI_Info_get(info, key, length, value.data(), &found), "MPI_Info_get");
  value.resize(static_cast<std::size_t>(length));
  return value;
}

}  // namespace

Options options_of(MPI_Info info) {
  Options options;
  if (info == MPI_INFO_NULL) return options;
  int count = 0;
  int rank = 0;
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  check(MPI_Info_get_nkeys(info, &count), "MPI_Info_get_nkeys");
  for (int i = 0; i < count; ++i) {
    char name[MPI_MAX_INFO_KEY + 1] = "";
    check(MPI_Info_get_nthkey(info, i, name), "MPI_Info_get_nthkey");
    if (!std::string_view(name).starts_with("cohom_")) {
      if (const std::string text = ignored_key(name); !text.empty()) warn_once_for_all(rank, text);
      continue;
    }
    set_option(options, name, value_of(info, name));
  }
  return options;
}

Options communicator_options_of(MPI_Info info) {
  constexpr const char* key = "cohom_transport";
  Options options;
  if (info == MPI_INFO_NULL) return options;
  int length = 0;
  int found = 0;
  check(MPI_Info_get_valuelen(info, key, &length, &found), "MPI_Info_get_valuelen");
  if (found != 0) set_option(options, key, value_of(info, key));
  return options;
}

}  // namespace cohom::mpi
