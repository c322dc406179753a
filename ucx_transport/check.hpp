#pragma once
// UCX's status codes as exceptions.

#include <cohom/error.hpp>

#include <ucs/type/status.h>

#include <string>
#include <string_view>

namespace cohom::ucx {

inline Error error_of(ucs_status_t status, std::string_view function) {
  return Error(status == UCS_ERR_NO_MEMORY ? ErrorKind::memory : ErrorKind::transport,
               "UCX: " + std::string(function) + ": " + ucs_status_string(status));
}

/// @throws Error naming the UCX function and UCX's text.
inline void check(ucs_status_t status, std::string_view function) {
  if (status != UCS_OK) throw error_of(status, function);
}

}  // namespace cohom::ucx
