#pragma once
// What tells one node from another without a launcher.

#include <cstdint>
#include <string>

namespace cohom {

/// Of the host's name and of the random number that its kernel drew when it started: equal on the
/// processes of one node alone. Without that number, which the log says, of the name alone.
std::uint64_t node_identity();

/// Of such texts. `boot`: of /proc/sys/kernel/random/boot_id.
std::uint64_t node_identity(const std::string& host, const std::string& boot);

}  // namespace cohom
