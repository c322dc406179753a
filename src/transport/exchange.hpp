#pragma once
// What ranks tell each other while a transport is made, before they can send messages.

#include <cohom/transport.hpp>

#include <cstddef>
#include <functional>
#include <vector>

namespace cohom {

/// Runs `local` and gives what it returns on all ranks, by rank. An Error that it throws on any
/// rank is thrown on all: that of the lowest. Collective, by one exchange.
std::vector<std::vector<std::byte>> tell_all(const Exchange& exchange,
                                             const std::function<std::vector<std::byte>()>& local);

}  // namespace cohom
