#pragma once
// EbpfPlane: the kernel sums, in a program on the switch's ports.

#include "aggregation/server/data_plane.hpp"
#include "aggregation/server/group_table.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cohom::offload {

struct EbpfSetup {
  std::vector<std::string> ports;  ///< network devices on which packets enter the switch
  sockaddr_in address{};           ///< of this switch: where workers send packets to
  std::uint32_t slots = 1024;
  std::uint32_t groups = 64;
};

/// Whether this build has the program; else why not.
bool has_ebpf();
std::string why_no_ebpf();

/// Loads the program and puts it on the ports, in place of what a killed process has left there.
/// The program goes with the plane.
/// @throws Error(invalid_argument) for a port that is no device, Error(unsupported) without the
/// program, Error(transport) when the kernel refuses.
std::unique_ptr<DataPlane> make_ebpf_plane(const EbpfSetup& setup);

}  // namespace cohom::offload
