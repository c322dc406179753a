#pragma once
// Packets without words.

#include "kernels/ebpf/packet.h"

#include <cstdint>

namespace cohom::offload {

/// The hello by which worker `worker` of a group shows where it is; `own_group` is its own number for
/// the group, which answers carry.
inline cohom_header make_hello(std::uint64_t job, std::uint32_t group, std::uint32_t epoch,
                               std::uint32_t worker, std::uint32_t own_group) {
  cohom_header hello{};
  hello.magic = cohom_magic;
  hello.version = cohom_packet_version;
  hello.kind = cohom_hello;
  hello.job = job;
  hello.group = group;
  hello.epoch = epoch;
  hello.worker = static_cast<__u16>(worker);
  hello.call = own_group;
  return hello;
}

}  // namespace cohom::offload
