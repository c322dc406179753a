#pragma once
// Packets without words.

#include "aggregation/protocol/packet.h"

#include <cstdint>

namespace cohom::offload {

/// By it a member of a group shows its aggregator where it is.
struct Hello {
  std::uint64_t job = 0;
  std::uint64_t epoch = 0;
  std::uint64_t key = 0;
  std::uint32_t group = 0;  ///< the receiver's number
  std::uint32_t worker = 0;
  std::uint32_t own_group = 0;  ///< the sender's number, which what it is sent carries
  std::uint64_t nonce = 0;      ///< random: the answer has it, too
};

inline cohom_header make_hello(const Hello& from) {
  cohom_header hello{};
  hello.magic = cohom_magic;
  hello.version = cohom_packet_version;
  hello.kind = cohom_hello;
  hello.job = from.job;
  hello.epoch = from.epoch;
  hello.key = from.key;
  hello.group = static_cast<__u16>(from.group);
  hello.worker = static_cast<__u16>(from.worker);
  hello.sequence = static_cast<__u32>(from.nonce);
  hello.offset = static_cast<__u32>(from.nonce >> 32);
  hello.call = from.own_group;
  return hello;
}

}  // namespace cohom::offload
