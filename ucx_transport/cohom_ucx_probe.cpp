// cohom-ucx-probe: the process in which addresses of UCX are tried. Aggregators and ranks start it
// (docs/aggregator.md); it is of no use by itself.

#include "ucx_transport/address_probe.hpp"

#include "base/core_files.hpp"

#include <sys/socket.h>

#include <cstdio>
#include <exception>

int main() {
  int type = 0;
  socklen_t size = sizeof type;
  if (::getsockopt(0, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_SEQPACKET) {
    std::fputs("cohom-ucx-probe: cohom-aggregator and the ranks of jobs start this program\n",
               stderr);
    return 2;
  }
  // It is there to be ended by what it tries.
  cohom::have_no_core_files();
  try {
    cohom::ucx::answer_probes(0);
  } catch (const std::exception&) {
    return 1;
  }
  return 0;
}
