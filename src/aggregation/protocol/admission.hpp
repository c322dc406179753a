#pragma once
// What an aggregator's admission may say: it comes from the network, and sizes and numbers follow
// from it.

#include "aggregation/protocol/control_message.hpp"

#include <cstddef>
#include <cstdint>

namespace cohom::offload {

/// The most that was asked for.
struct AskedFor {
  std::size_t payload_bytes = 0;
  std::uint32_t slots = 0;
};

/// @throws Error(transport) that names the first field that cannot be, its value and what would be
/// right.
void check_admitted(const Admitted& admitted, const AskedFor& asked);

}  // namespace cohom::offload
