#pragma once
// Runs a test body on n ranks, each a thread with a loopback communicator.

#include "testing/loopback_transport.hpp"

#include <cohom/communicator.hpp>

#include <functional>

namespace cohom::test {

/// Calls body(rank, communicator) on every rank and waits for all. The first exception that leaves
/// a body is thrown again here.
void on_ranks(int ranks, const LoopbackOptions& options,
              const std::function<void(int, Communicator&)>& body);
void on_ranks(int ranks, const std::function<void(int, Communicator&)>& body);

}  // namespace cohom::test
