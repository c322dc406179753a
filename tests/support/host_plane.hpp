#pragma once
// HostPlane: a data plane in this process that runs the kernel's program on packets of a UDP
// socket: for tests without root, with sanitizers, and with losses on the way back.

#include "aggregation/server/data_plane.hpp"

#include <cohom/merge.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

namespace cohom::test {

/// Bits of MergeKinds: what the first programs had, and what they have now.
inline constexpr std::uint32_t first_merges =
    1u << int(MergeKind::add) | 1u << int(MergeKind::bit_or) | 1u << int(MergeKind::max);
inline constexpr std::uint32_t all_merges =
    first_merges | 1u << int(MergeKind::max8) | 1u << int(MergeKind::max16);

struct HostPlaneSetup {
  std::uint32_t slots = 256;
  std::uint32_t groups = 8;
  std::uint32_t merges = all_merges;  ///< what it says of itself
  double lose_sums = 0;               ///< share of the packets to workers that never leave
  /// Once it is true, the control server meets an exception that is no client's and no group's.
  const std::atomic<bool>* broken = nullptr;
  /// As long as it is true, there is no memory for a group that its members are to be met in.
  const std::atomic<bool>* no_memory = nullptr;
  /// Called by the control server's thread each time when it has served connections and groups.
  std::function<void()> served = {};
};

/// Listens on a port of 127.0.0.1 that data_address() tells, with a thread of its own.
std::unique_ptr<offload::DataPlane> make_host_plane(const HostPlaneSetup& setup);

}  // namespace cohom::test
