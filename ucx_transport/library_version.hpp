#pragma once
// Which UCX library this process has.

#include "aggregation/protocol/ucx_address.hpp"

#include <ucp/api/ucp.h>

namespace cohom::ucx {

/// Of the library in use, which need not be that of the header files.
inline offload::UcxVersion library_version() {
  unsigned major_part = 0, minor_part = 0, release = 0;
  ucp_get_version(&major_part, &minor_part, &release);
  return {major_part, minor_part, release};
}

}  // namespace cohom::ucx
