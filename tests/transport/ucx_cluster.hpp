#pragma once
// Ranks as threads of one process, each with a UCX worker of its own, as if they were processes.

#include "ucx_transport/transport.hpp"

#include <cohom/transport.hpp>

#include <functional>
#include <string>

namespace cohom::testing {

/// Calls `body` once on every rank, at the same time. `paths` is as UCX_TLS.
void run_over_ucx(int ranks, const std::string& paths, const std::function<void(Transport&)>& body);

}  // namespace cohom::testing
