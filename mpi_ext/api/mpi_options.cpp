#include "mpi_ext/api/mpi_options.hpp"

#include "base/known_names.hpp"
#include "base/log.hpp"
#include "mpi_ext/base/mpi_check.hpp"

#include <new>
#include <string>
#include <string_view>

namespace cohom::mpi {

std::string info_value(MPI_Info info, const char* key) {
  int length = 0;
  int found = 0;
  check(MPI_Info_get_valuelen(info, key, &length, &found), "MPI_Info_get_valuelen");
  std::string value(static_cast<std::size_t>(length) + 1, '\0');  // MPI writes the final zero, too
  check(MPI_Info_get(info, key, length, value.data(), &found), "MPI_Info_get");
  value.resize(static_cast<std::size_t>(length));
  return value;
}

namespace {

/// A key that is wrong leaves the others right: they say which communicator learns of the error.
void take_key(InfoOptions& read, MPI_Info info, const char* name) {
  try {
    set_option(read.options, name, info_value(info, name));
  } catch (const Error& error) {
    if (!read.error) read.error = error;
  }
}

void take_keys(InfoOptions& read, MPI_Info info) {
  int count = 0;
  int rank = 0;
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  check(MPI_Info_get_nkeys(info, &count), "MPI_Info_get_nkeys");
  for (int i = 0; i < count; ++i) {
    char name[MPI_MAX_INFO_KEY + 1] = "";
    check(MPI_Info_get_nthkey(info, i, name), "MPI_Info_get_nthkey");
    if (std::string_view(name).starts_with("cohom_")) {
      take_key(read, info, name);
    } else if (const std::string text = ignored_key(name); !text.empty()) {
      warn_once_for_all(rank, text);
    }
  }
}

}  // namespace

InfoOptions options_of(MPI_Info info) {
  InfoOptions read;
  if (info == MPI_INFO_NULL) return read;
  try {
    take_keys(read, info);
  } catch (const Error& error) {
    if (!read.error) read.error = error;
  } catch (const std::bad_alloc&) {
    if (!read.error) read.error = Error(ErrorKind::state, "out of memory");
  }
  return read;
}

}  // namespace cohom::mpi
