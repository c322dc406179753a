#pragma once
// MPI's return codes as exceptions, and when MPI may be called at all.

#include <cohom/error.hpp>

#include <mpi.h>

#include <string>
#include <string_view>

namespace cohom::mpi {

/// Text that MPI has for an error code.
inline std::string error_text(int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) return std::to_string(code);
  return {text, static_cast<std::size_t>(length)};
}

/// @throws Error(transport) naming the MPI function and MPI's text.
inline void check(int code, std::string_view function) {
  if (code != MPI_SUCCESS)
    throw Error(ErrorKind::transport, std::string(function) + ": " + error_text(code));
}

inline bool initialized() {
  int flag = 0;
  MPI_Initialized(&flag);
  return flag != 0;
}

inline bool finalized() {
  int flag = 0;
  MPI_Finalized(&flag);
  return flag != 0;
}

/// Between MPI_Init and MPI_Finalize.
inline bool usable() { return initialized() && !finalized(); }

}  // namespace cohom::mpi
