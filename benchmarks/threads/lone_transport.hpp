#pragma once
// The transport of a rank that is alone: nothing travels, and calls are codec work and nothing
// else.

#include <cohom/transport.hpp>

#include <memory>

namespace cohom::bench {

/// It has all cores that this process may run on.
std::shared_ptr<Transport> lone_transport();

}  // namespace cohom::bench
