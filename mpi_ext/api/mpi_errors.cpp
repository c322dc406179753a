#include "mpi_ext/api/mpi_errors.hpp"

#include <array>
#include <cstddef>
#include <cstdio>
#include <mutex>

namespace cohom::mpi {

namespace {

constexpr std::size_t kinds = 6;
constexpr std::size_t index_of(ErrorKind kind) { return static_cast<std::size_t>(kind) - 1; }
static_assert(index_of(ErrorKind::transport) == kinds - 1);

/// Guards the texts, too: MPI_Add_error_string overwrites in place.
struct Codes {
  std::mutex mutex;
  bool made = false;
  std::array<int, kinds> code{};
};

Codes& codes() {
  static Codes the_codes;
  return the_codes;
}

/// With the mutex held.
bool make(Codes& all) {
  if (all.made) return true;
  int error_class = 0;
  char name[] = "cohom: error of a compressed allreduce";
  if (MPI_Add_error_class(&error_class) != MPI_SUCCESS) return false;
  MPI_Add_error_string(error_class, name);
  for (int& code : all.code)
    if (MPI_Add_error_code(error_class, &code) != MPI_SUCCESS) return false;
  return all.made = true;
}

int code_with_text(ErrorKind kind, const char* text) noexcept {
  // MPI takes at most this much; what does not fit ends in dots.
  char line[MPI_MAX_ERROR_STRING];
  const int length = std::snprintf(line, sizeof line, "cohom: %s: %s", name_of(kind).data(), text);
  if (length >= static_cast<int>(sizeof line)) std::snprintf(line + sizeof line - 4, 4, "...");
  Codes& all = codes();
  const std::lock_guard lock(all.mutex);
  if (!make(all)) return MPI_ERR_OTHER;
  const int code = all.code[index_of(kind)];
  MPI_Add_error_string(code, line);
  return code;
}

}  // namespace

int raise(MPI_Comm comm, ErrorKind kind, const char* text) noexcept {
  if (!usable()) {
    std::fprintf(stderr, "cohom: %s: %s\n", name_of(kind).data(), text);
    return MPI_ERR_OTHER;
  }
  return raise(comm, code_with_text(kind, text));
}

int raise(MPI_Comm comm, int mpi_code) noexcept {
  if (usable()) MPI_Comm_call_errhandler(comm == MPI_COMM_NULL ? MPI_COMM_WORLD : comm, mpi_code);
  return mpi_code;
}

}  // namespace cohom::mpi
