#pragma once
// The switch that this node is at, by Slurm's variables.

#include <cstdint>
#include <string>
#include <string_view>

namespace cohom {

/// A number that the nodes of one switch have alike, and no others; 0: nobody knows. Of
/// SLURM_TOPOLOGY_ADDR and SLURM_TOPOLOGY_ADDR_PATTERN, where they are this node's
/// (SLURMD_NODENAME): a launcher may have carried another node's here, which the log says.
std::uint64_t slurm_switch();

/// The path of switches from such variables, e.g. "core.leaf3" of "core.leaf3.node17" and
/// "switch.switch.node". Empty where there is none. `node`: this node's name; empty: not known.
std::string switch_path(std::string_view address, std::string_view pattern, std::string_view node);

}  // namespace cohom
