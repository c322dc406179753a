// What stands for the eBPF data plane in builds without it.

#include "aggregation/server/ebpf_plane.hpp"

#include <cohom/error.hpp>

namespace cohom::offload {

bool has_ebpf() { return false; }

std::string why_no_ebpf() { return COHOM_WHY_NO_EBPF; }

std::unique_ptr<DataPlane> make_ebpf_plane(const EbpfSetup&) {
  throw Error(ErrorKind::unsupported, "--ebpf: this build has no eBPF program: " + why_no_ebpf());
}

}  // namespace cohom::offload
